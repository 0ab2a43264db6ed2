// Package policy compiles a configuration into the read-only snapshot that the gateway decides with:
// which route a request takes, which caller sent it, of which semantic it is, which rule it meets, and why.
//
// A Policy is what should be true; what is true (counters, queues, seats) lives elsewhere and is matched by
// name. Nothing reachable from a Policy is written after Compile has returned, so any number of goroutines
// may use one without a lock, and a reload is one atomic pointer swap. Work that is waiting may keep pointers
// into an old Policy for as long as it likes. Routes, callers and semantics handed to a Policy's methods must
// come from that same Policy: a request loads the pointer once.
//
// # Which route
//
// Paths are brought into one canonical form first (NormalisePath), and the upstream is sent that form, so
// that gateway and upstream cannot read one path in two ways. Then, of the routes that match path, host and
// method, the most specific one is taken:
//
//  1. by path: an exact path before any prefix, a longer prefix before a shorter one (by whole segments);
//  2. for one path pattern: a route that names the host before one for any host;
//  3. for one path and host: a route that names the method before one for any method.
//
// The path comes first because it says most about the work: a rule for /v1/export is not lost because
// some host has a catch-all /*. A route that fits by path but not by host or method does not end the search:
// the next less specific one is asked. Two routes that no request could tell apart are an error.
//
// # Which semantic
//
// A tag holds if the route accepts it and the caller has registered it. Without a tag, a route that accepts
// exactly one semantic implies it, again only for a caller who registered it. Everything else is "default".
// So a tag can move a caller only among semantics that were granted, and a false one never gains anything.
//
// # Which rule
//
// plan/route/semantic, plan/route/*, plan/*/semantic, plan/*/*, the semantic's own: the first that exists.
// For "default" only rules that name it count, so that a generous plan/*/* never opens the door to unregistered
// work. A field that the chosen rule leaves out comes from the semantic, not from a less specific rule: to
// understand a rule one has to read two places, never five. Rate and burst are one field.
//
// # Indexes
//
// Names gives callers, semantics and routes small integers that keep their meaning for the life of the
// process, over any number of reloads. State is keyed by them.
package policy
