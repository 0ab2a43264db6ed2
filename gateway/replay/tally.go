package replay

import (
	"time"

	"tidegate/scheduler"
)

// code is why a request was refused: a Verdict of the scheduler, or what the gateway finds before it asks it.
type code uint8

const (
	callerDisabled code = code(scheduler.Draining) + 1 + iota
	tenantMissing
	callerUnknown
	codes
)

func (c code) String() string {
	switch c {
	case callerDisabled:
		return "caller_disabled"
	case tenantMissing:
		return "tenant_missing"
	case callerUnknown:
		return "caller_unknown"
	}
	return scheduler.Verdict(c).String()
}

// tally is what became of the requests of one caller and semantic.
type tally struct {
	caller, semantic string

	offered int64
	passed  int64 // had a seat at once
	waited  int64 // had one after a wait
	refused [codes]int64
	waits   histogram // of those that waited and had a seat
	longest time.Duration
	surges  int64
	surging bool // at the end of the trace

	// Of what is observed: what enforcing would have let wait, and refused.
	wouldWait   int64
	wouldRefuse [codes]int64
}

func (t *tally) wait(d time.Duration) {
	t.waited++
	t.waits.add(d)
	t.longest = max(t.longest, d)
}

// quantile is over all that had a seat, those that had it at once among them.
func (t *tally) quantile(q float64) time.Duration {
	return min(t.waits.quantile(q, t.passed), t.longest)
}

// join adds all of another one.
func (t *tally) join(o *tally) {
	t.offered += o.offered
	t.passed += o.passed
	t.waited += o.waited
	t.surges += o.surges
	t.wouldWait += o.wouldWait
	for c := range codes {
		t.refused[c] += o.refused[c]
		t.wouldRefuse[c] += o.wouldRefuse[c]
	}
	t.waits.join(&o.waits)
	t.longest = max(t.longest, o.longest)
	t.surging = t.surging || o.surging
}

func sum(of *[codes]int64) (n int64) {
	for _, x := range of {
		n += x
	}
	return n
}

// poolTally is what a pool had at most.
type poolTally struct {
	name                 string
	seats                int
	inUse, waiting       int
	mostInUse, mostWaits int
	full                 int64 // ns in which no seat was free
	fullSince            int64
}

func (p *poolTally) take(now int64) {
	if p.inUse++; p.inUse == p.seats {
		p.fullSince = now
	}
	p.mostInUse = max(p.mostInUse, p.inUse)
}

func (p *poolTally) free(now int64) {
	if p.inUse == p.seats {
		p.full += now - p.fullSince
	}
	p.inUse--
}

func (p *poolTally) queue() {
	p.waiting++
	p.mostWaits = max(p.mostWaits, p.waiting)
}
