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
// # Observing
//
// A rule that observes holds nothing back: its items are admitted as if their rate had paid for them and nothing
// but the seats were bounded (observe.go). Its rate still pays what it can on arrival, so that enforcing it later
// does not begin with a full purse. What is enforced beside it keeps its ceilings, bounds and order; what it loses
// are seats, which observed work may fill.
//
// What enforcing would do is played beside the real core in a shadow (shadow.go), a second core under the same setup in
// which every rule enforces, and Judged tells its decisions. Each arriving item has a ghost there, which holds
// its seat from its own dispatch on for as long as the real request holds one. With the same arrivals and seat times the
// shadow therefore decides as enforcing does, item by item: tests hold it to that for rules of every kind while observed
// work finds a seat at once, and for a promotion that fills the pool, where each kind of work takes a constant time.
// Where work varies and the pool is full of what is observed, a ghost may have a seat before its request has, and then
// plays the seat time of another request of its flow: the sums are right, the single item is not. With twelve flows that
// send three times their rates to twelve seats, where they need some twenty, each sum was within 10 %.
//
// The limit of that guarantee: the shadow cannot know what enforcing would change outside. Callers who are refused
// come back, slow down or give up, and callers who wait hang up; here they were served instead. Seat times are those
// of an upstream under all of the observed load, and would be shorter under less of it. What was in flight or
// waiting when observing began is not in the shadow. A request whose queue is full is judged when its body is in,
// where enforcing asks before it is read.
//
// # Cost
//
// Every operation is O(log n) in the flows that wait, and O(1) where nothing waits; it allocates nothing in
// the steady state. The exceptions are reloads, and a surge that begins or ends, which is O(log n) for each
// of the flow's lines, whatever they hold. While anything observes, each item costs about as much again several
// times over, and its ghost is allocated.
package scheduler
