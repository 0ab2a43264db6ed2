package knee

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tidegate/loadtest/openloop"
)

// station is a model of an upstream in virtual time, in seconds.
type station interface {
	arrive(now float64, id int) (refused bool)
	next() float64 // moment of the next completion; +Inf: none
	complete() (id int)
	in() int
}

// pool is c workers with one queue, first in, first out.
type pool struct {
	c       int
	service func() float64
	waiting []int
	running []job // by their end, the last one first
}

type job struct {
	id  int
	end float64
}

func newPool(c int, service func() float64) *pool { return &pool{c: c, service: service} }

func (p *pool) arrive(now float64, id int) bool {
	if len(p.running) < p.c {
		p.run(now, id)
	} else {
		p.waiting = append(p.waiting, id)
	}
	return false
}

func (p *pool) run(now float64, id int) {
	end := now + p.service()
	at := 0
	for at < len(p.running) && p.running[at].end > end {
		at++
	}
	p.running = slices.Insert(p.running, at, job{id, end})
}

func (p *pool) next() float64 {
	if len(p.running) == 0 {
		return math.Inf(1)
	}
	return p.running[len(p.running)-1].end
}

func (p *pool) complete() int {
	done := p.running[len(p.running)-1]
	p.running = p.running[:len(p.running)-1]
	if len(p.waiting) > 0 {
		p.run(done.end, p.waiting[0])
		p.waiting = p.waiting[1:]
	}
	return done.id
}

func (p *pool) in() int { return len(p.running) + len(p.waiting) }

// shared works on all at once, at a rate that depends on how many they are: exponential work, so that each of those in it is
// as likely to be the next one done.
type shared struct {
	rate func(n int) float64
	rng  *rand.Rand
	ids  []int
	due  float64
}

func (s *shared) plan(now float64) {
	s.due = math.Inf(1)
	if len(s.ids) > 0 {
		s.due = now + s.rng.ExpFloat64()/s.rate(len(s.ids))
	}
}

func (s *shared) arrive(now float64, id int) bool {
	s.ids = append(s.ids, id)
	s.plan(now)
	return false
}

func (s *shared) next() float64 {
	if len(s.ids) == 0 {
		return math.Inf(1)
	}
	return s.due
}

func (s *shared) complete() int {
	i := s.rng.IntN(len(s.ids))
	id := s.ids[i]
	s.ids[i] = s.ids[len(s.ids)-1]
	s.ids = s.ids[:len(s.ids)-1]
	s.plan(s.due)
	return id
}

func (s *shared) in() int { return len(s.ids) }

// limited answers 429 beyond a rate, a bucket of a tenth of a second.
type limited struct {
	station
	rate, level, at float64
}

func (l *limited) arrive(now float64, id int) bool {
	l.level, l.at = min(l.rate/10, l.level+(now-l.at)*l.rate), now
	if l.level < 1 {
		return true
	}
	l.level--
	return l.station.arrive(now, id)
}

// simulated plays loads on fresh stations. It belongs into a bubble: a step takes its time there.
type simulated struct {
	t      *testing.T
	fresh  func() station
	seed   uint64
	late   func() time.Duration    // of the generator; nil: never
	status func(load Load) int     // of answers; nil: 200
	ask    func(played int) Answer // nil: an answer of a fresh station
	leave  func(load Load) bool    // the user interrupts in this step

	played []Load
	peak   int // most that were in a station
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (u *simulated) Ask(ctx context.Context) (Answer, error) {
	if u.ask != nil {
		return u.ask(len(u.played)), ctx.Err()
	}
	s := u.fresh()
	if s.arrive(1, 0) {
		return Answer{Reason: "http_429"}, nil
	}
	return Answer{Latency: seconds(s.next() - 1)}, ctx.Err()
}

func (u *simulated) Play(_ context.Context, load Load) (Step, error) {
	u.seed++
	u.played = append(u.played, load)
	time.Sleep(load.whole())
	if u.leave != nil && u.leave(load) {
		return Step{}, context.Canceled
	}
	arrivals, err := load.Arrivals(u.seed)
	if err != nil {
		u.t.Fatal(err)
	}
	guard, results := NewGuard(load), make([]openloop.Result, len(arrivals))
	for i := range results {
		results[i].Failure = openloop.Skipped
	}
	s := u.fresh()
	var queue []int // of the generator, behind seats
	send := func(now float64, id int) {
		r := &results[id]
		*r = openloop.Result{Sent: seconds(now), Status: 200}
		if s.arrive(now, id) {
			r.Status, r.Done = 429, seconds(now)
			guard.Seen(r)
		}
		u.peak = max(u.peak, s.in())
	}
	finish := func(until float64) {
		for s.in() > 0 && s.next() <= until {
			now := s.next()
			r := &results[s.complete()]
			if r.Done = seconds(now); u.status != nil {
				r.Status = u.status(load)
			}
			guard.Seen(r)
			if len(queue) > 0 && now < load.whole().Seconds() {
				send(now, queue[0])
				queue = queue[1:]
			}
		}
	}
	for i, a := range arrivals {
		at := a.At
		if u.late != nil {
			at += u.late()
		}
		finish(at.Seconds())
		if guard.Stop(at, s.in()) {
			break
		}
		if load.Seats > 0 && s.in() >= load.Seats {
			queue = append(queue, i)
			continue
		}
		send(at.Seconds(), i)
	}
	finish(math.Inf(1))
	return Measure(load, arrivals, results, guard, 0.99), nil
}
