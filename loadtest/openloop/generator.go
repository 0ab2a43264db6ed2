// Package openloop sends requests at moments fixed in advance and measures from those moments.
//
// One goroutine walks the schedule and writes each request itself, so that a request waits for one goroutine
// to get a core and not for two. Each connection has a goroutine of its own that reads the answer, and that
// dials and writes where the connection is new. The connection that was idle for the shortest time is used
// first, a new one is made when none is idle, up to a bound. A result goes into a slot of its own in a slice made before the start, so that
// the run takes no lock but the one of the idle list and makes next to no garbage.
//
// The generator watches itself: the time from the intended to the actual sending is its own lag, and a
// run in which it lagged says nothing about the server (see Lag).
package openloop

import (
	"context"
	"net"
	"sync"
	"time"

	"tidegate/loadtest/schedule"
)

// patience is how long the sending may sleep without listening for the end of the run. time.Sleep wakes up more
// promptly than a select, so the last of each wait is slept.
const patience = 200 * time.Millisecond

// Plan is a run.
type Plan struct {
	Arrivals []schedule.Arrival // in order of time
	Requests []Request          // by Arrival.Who
	Dial     func(ctx context.Context) (net.Conn, error)
	MaxConns int           // at most; an arrival that finds all of them busy is Unsent
	Grace    time.Duration // for answers still out after the last arrival; then they are given up

	// Queue makes an arrival that finds all connections busy wait for one instead of being Unsent, first come,
	// first served: what a gateway with MaxConns seats would do. The wait is then part of Sent, and Lags says nothing.
	Queue bool
	// Stop, where it is set, is asked before each arrival, and told how many requests are out. Once it says true, nothing more
	// is sent: the rest is Skipped, and the answers still out are waited for as usual.
	Stop func(out int) bool
	// Seen, where it is set, is told each result as soon as it is complete, by the goroutine of the connection: several at a
	// time. What was never sent is not told.
	Seen func(*Result)

	sleep func(time.Duration) // time.Sleep, but for tests of the lag
}

// Lead is the time between Run's call and the schedule's zero.
const Lead = 20 * time.Millisecond

// Run plays the plan. The start is the schedule's zero, with its wall clock; results are by arrival.
// When ctx ends early, what was under way is given up, what was still to be sent is Unsent, and the
// context's error is returned beside the results.
func Run(ctx context.Context, plan Plan) (start time.Time, results []Result, err error) {
	hold, hangUp := context.WithCancel(ctx)
	defer hangUp()
	g := &generator{
		plan:    plan,
		hold:    hold,
		start:   time.Now().Add(Lead),
		results: make([]Result, len(plan.Arrivals)),
		idle:    make([]*connection, 0, plan.MaxConns),
	}
	if g.plan.sleep == nil {
		g.plan.sleep = time.Sleep
	}
	g.freed.L = &g.mu
	g.send(ctx)

	answered := make(chan struct{})
	go func() {
		g.pending.Wait()
		close(answered)
	}()
	grace := time.NewTimer(plan.Grace)
	defer grace.Stop()
	select {
	case <-answered:
	case <-grace.C:
		hangUp()
	case <-ctx.Done():
	}
	<-answered // each exchange ends soon after the hang-up
	g.close()
	return g.start, g.results, ctx.Err()
}

// generator is the state of one run.
type generator struct {
	plan    Plan
	hold    context.Context // its end hangs up all connections
	start   time.Time
	results []Result // each slot is written by the one connection that has the arrival
	pending sync.WaitGroup

	mu    sync.Mutex
	idle  []*connection // last in, first out
	conns int
	freed sync.Cond // a connection became idle
}

// send walks the schedule. It never waits for an answer.
func (g *generator) send(ctx context.Context) {
	for i, a := range g.plan.Arrivals {
		at := g.start.Add(a.At)
		if wait := time.Until(at); wait > patience {
			select {
			case <-time.After(wait - patience/2):
			case <-ctx.Done():
			}
		}
		if wait := time.Until(at); wait > 0 && ctx.Err() == nil {
			g.plan.sleep(wait)
		}
		if ctx.Err() != nil {
			g.leaveOut(i, Unsent)
			return
		}
		if g.plan.Stop != nil && g.plan.Stop(g.out()) {
			g.leaveOut(i, Skipped)
			return
		}
		c := g.acquire()
		if c == nil {
			now := time.Since(g.start)
			g.results[i] = Result{Sent: now, Done: now, Failure: Unsent}
			continue
		}
		g.pending.Add(1)
		c.begin(i)
		c.next <- i // never blocks: the connection is idle and the channel holds one
	}
}

// leaveOut says of an arrival and all after it why they were not sent.
func (g *generator) leaveOut(from int, why Failure) {
	for i := from; i < len(g.results); i++ {
		g.results[i].Failure = why
	}
}

// out is the number of requests under way.
func (g *generator) out() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.conns - len(g.idle)
}

// acquire is an idle connection, or a new one. When the bound is reached it is nil, or with Queue the first that
// becomes idle: each does in the end, since every exchange is bounded by its timeout and by the run.
func (g *generator) acquire() *connection {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.plan.Queue && len(g.idle) == 0 && g.conns == g.plan.MaxConns {
		g.freed.Wait()
	}
	if n := len(g.idle); n > 0 {
		c := g.idle[n-1]
		g.idle = g.idle[:n-1]
		return c
	}
	if g.conns == g.plan.MaxConns {
		return nil
	}
	g.conns++
	c := newConnection(g)
	go c.serve()
	return c
}

// release makes the connection idle.
func (g *generator) release(c *connection) {
	g.mu.Lock()
	g.idle = append(g.idle, c)
	g.freed.Signal() // one waits at most: the walker
	g.mu.Unlock()
	g.pending.Done()
}

// close ends the connections; all of them are idle.
func (g *generator) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.idle {
		close(c.next)
	}
}
