// Package scheduler decides who gets a seat, who waits, and who is refused.
//
// It is a pure core (Core), which takes the present moment with each operation and decides without
// asking anybody, and one file that blocks (scheduler.go), which puts a lock around the core and lets
// goroutines wait for its verdicts.
//
// # What it decides about
//
// A flow is what is counted: one caller's work of one kind. Its rate pays for its items, in the order of
// their arrival; a paid item is in the committed band, an unpaid one in the excess band, or in the surge
// band while the detector holds the flow to be surging. A pool has seats; an item holds one from its
// dispatch to its release.
//
// # Order
//
// A free seat goes to the first of those who may take it: committed before excess before surge, inside
// a band by level, inside a level to the caller, then the caller's flow, with the smallest start tag. A
// tag counts the seat seconds that its owner was given, divided by the caller's weight: a dispatch is
// charged with the flow's mean seat time and corrected when the seat comes back. Who comes back from
// idleness starts from the tag of the last dispatch, so nobody saves up turns. This is start-time fair
// queueing (Goyal, Vin and Cheng, 1996), twice, with time on a seat as the resource.
//
// A level with a promised share comes first while it has had less than that share; see share.
//
// # The bound
//
// Take two callers i and j of weights w who both have dispatchable work of one band and level all the
// time, in a pool of S seats. Let c be the longest seat time of one item of each, and W the seat time that
// each was given in any span. A start tag moves by charge/w, and a caller is dispatched only while its tag
// is the smaller one, so at dispatch the tags are never further apart than one charge of either. What the
// tags do not know yet is what is in flight: at most S items, each wrong by at most c. So
//
//	|W(i)/w(i) - W(j)/w(j)|  <=  (S+1) x (c(i)/w(i) + c(j)/w(j))
//
// in any span, however long: unfairness does not add up. With seat times that are known, because they do
// not vary, only the 1 remains of S+1. A test holds flows of eight seat times and three weights to the share
// that an ideal server would give each, within this bound.
//
// A caller who arrives with one item waits at most for one item of each caller before it, and for the
// seat that they wait for; not for how much anybody has waiting.
//
// # What a seat may be used for
//
// Ceilings keep work that holds seats for long from having all of them: see pool.allows. Whether work is
// quick, slow or long is judged beside the pool's own committed work (seattime.go), so the same gateway
// fits a chat of 20 ms and a report of a minute. A flow that may not take the free seat steps aside, and
// the next in order is asked; flows of one speed stand in heaps of their own, so stepping aside costs
// nothing.
//
// # Cost
//
// Every operation is O(log n) in the flows that wait, and O(1) where nothing waits; it allocates nothing in
// the steady state. The exceptions are reloads, and a surge that begins or ends, which is O(log n) for each
// of the flow's lines, whatever they hold.
package scheduler
