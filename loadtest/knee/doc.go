// Package knee finds how much an upstream can do: the highest load that it carries without getting slow, and how
// many requests it then works on at a time. It decides what to play and what the answers mean; who sends is behind
// the interface Upstream, so that the method can be tried on models whose answer is known.
//
// # The knee
//
// Load is raised in steps, open loop: requests leave at moments fixed in advance, and latency counts from those. A
// step is carried when
//
//   - answers keep up with arrivals: over the measured part the served are at least 95 % of the sent,
//   - a high quantile of latency, p99 unless told otherwise, stays within a limit: k times what it is without load
//     (k = 3), or an absolute one where the user has an objective,
//   - at most 1 % are turned away or fail.
//
// The knee is the highest load that is carried. Steps go up by a factor of 1.5 until one is not carried; from there
// the bracket is halved (on the scale of factors) until it is 5 % wide. A step beyond the limit of latency only is
// played once more, and the better of the two counts: noise makes latency worse and hardly ever better. That factor of
// 1.5 bounds how far the upstream is ever overrun, and a step is cut short as soon as twice as many requests (and 16) are out as
// would be at the limit of latency (Little's law: out = rate x latency), or as a tenth of the answers are failures.
//
// Why not something finer? Kneedle (Satopää and others 2011) finds the point of largest curvature of a curve that
// is known: it needs points on both sides, far out, and open loop there is no curve on the far side, only a queue that
// grows for as long as the step lasts. A fit of the universal scalability law (Gunther 2007) speaks of throughput at a number
// of users, assumes one cause of decline, and fits a pool of workers, which is a corner and not a hyperbola, badly where
// it matters. The limit on latency is what operators promise, is monotone in the load for any queue, and is the same
// question the gateway's max_wait asks.
//
// # The seats
//
// By Little's law the requests in flight are throughput times time in the system. At the knee some of that time
// is spent in the upstream's own queue, which a gateway would rather hold itself, where it can order it; so what is in
// flight at the knee is mostly more than needed. Fewer than L = X R0 cannot do, X the throughput and R0 the
// mean latency without a queue: the two asymptotes of closed systems cross there (Denning and Buzen 1978), and it is
// what BBR calls the bandwidth-delay product. For a pool of c workers L is c. Where service itself gets slower with
// company (a shared CPU, locks), L is too few and the answer lies between.
//
// So it is measured and not computed: the generator takes the place of the gateway, lets at most N requests out and
// keeps the rest in a queue of its own, under more load than can be served. It begins with what was in flight at the knee
// and takes a quarter more as long as that brings a twentieth of throughput and latency stays within its limit: that is
// plenty. The seats are the smallest N from 0.95 L to plenty at which 95 % of the throughput with plenty is reached, and in
// proportion the few more for the rest.
//
// The tests have the models (one and more workers, fixed and exponential service, contention, a limit that answers
// 429, no knee within reach), their known answers, and the tolerances that hold: a seat or 5 % for pools of workers.
package knee
