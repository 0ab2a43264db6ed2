// Package replay plays a trace of requests through a configuration, in virtual time, with what decides in the running
// gateway: the policy, the scheduler's core with its meters and pools, and the detector, stepped by the same loop. Only
// the upstream is a model: a request holds its seat for the service time of its semantic.
//
// # What is the same, and what is not
//
// The core is told every arrival and every end at its own moment, and everything that falls due between (a rate that
// frees, a wait that is over) at the moment it falls due, so nothing in the model is late. In the running gateway some
// things are, by the grain of its timers and by what the machine has to do. Flows are stepped on the 100 ms grid of the
// trace's clock: a verdict at t knows the arrivals in [t - 100 ms, t), and comes before what arrives at t.
//
// A trace says what was offered, not what callers would have done had they been answered otherwise: nobody here
// hangs up, slows down or comes back after a refusal. Bodies are not known, so no request is refused for its body,
// and each counts in the queue with what a request holds without one.
//
// # Memory
//
// A trace is read once while it is played (and once before, where that tells its order or its bins). What is held
// is what the running gateway would hold, a block of lines, and the numbers for each caller and semantic; the latter are
// bounded by limits.max_flows, beyond which callers are counted together as "others".
package replay
