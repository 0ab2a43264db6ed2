package scheduler

import (
	"fmt"
	"testing"
	"time"
)

// The scenarios of the admission rules, as whole pools under load.

const (
	chat   int32 = 1
	export int32 = 2
	stream int32 = 3
)

func TestEverybodyOverQuotaAt96PercentLoadIsServed(t *testing.T) {
	s := newSimulation(t, onePool(64, 64))
	// 64 seats of 20 ms serve 3,200/s; 48 callers offer 3,072/s, each 20 % over its 53/s.
	var all []*source
	for i := range int32(48) {
		all = append(all, s.add(&source{
			name: fmt.Sprint("caller-", i), key: key(i, chat), terms: terms(rule(53, time.Second, "realtime", 2*time.Second)),
			gap: s.poisson(64), service: s.exponential(20 * time.Millisecond), to: 60 * time.Second,
		}))
	}
	s.run(70 * time.Second)
	got := sum("all", all...)
	t.Log(got)
	if got.allRefused() != 0 {
		t.Errorf("refused %v, want nobody", got.refused)
	}
	if p99 := quantile(got.waits, .99); p99 > 100*time.Millisecond {
		t.Errorf("wait p99 %v, want at most 100ms", p99)
	}
}

func TestOneCallerSurgingAloneUsesAllSeats(t *testing.T) {
	s := newSimulation(t, onePool(64, 20))
	hog := s.add(&source{
		name: "hog", key: key(1, chat), terms: terms(rule(20, time.Second, "realtime", 2*time.Second)),
		gap: s.poisson(5000), service: constant(20 * time.Millisecond), to: 10 * time.Second, surging: true,
	})
	s.run(13 * time.Second)
	s.log()
	if s.peak["shared"] != 64 {
		t.Errorf("at most %d seats in use, want all 64", s.peak["shared"])
	}
	if rate := float64(hog.granted) / 10; rate < .97*3200 {
		t.Errorf("served %.0f/s, want about 3200/s: every seat all the time", rate)
	}
}

func TestThirtySecondStreamsLeaveChatAlone(t *testing.T) {
	s := newSimulation(t, onePool(64, 30))
	var chats []*source
	for i := range int32(20) {
		chats = append(chats, s.add(&source{
			name: fmt.Sprint("chat-", i), key: key(i, chat), terms: terms(rule(60, time.Second, "realtime", 2*time.Second)),
			gap: s.poisson(50), service: s.exponential(20 * time.Millisecond), to: 300 * time.Second,
		}))
	}
	streams := s.add(&source{
		name: "streams", key: key(100, stream), terms: terms(rule(10, time.Second, "realtime", 20*time.Second)),
		gap: s.poisson(5), service: constant(30 * time.Second), to: 300 * time.Second,
	})
	s.run(340 * time.Second)
	got := sum("chats", chats...)
	t.Log(got)
	t.Log(streams)
	if served := float64(got.granted) / float64(got.offered); served < .999 {
		t.Errorf("chat served %.4f, want at least 0.999", served)
	}
	if got.breaches > 0 {
		t.Errorf("%d chats within their rate were refused", got.breaches)
	}
	if streams.granted == 0 || streams.peak > 32+5 {
		t.Errorf("streams: %d served, at most %d at once; want some, and at most half the seats (and those that began unknown)", streams.granted, streams.peak)
	}
}

func TestInventedTenantsGainNothing(t *testing.T) {
	s := newSimulation(t, onePool(64, 21))
	var honest []*source
	for i := range int32(20) {
		honest = append(honest, s.add(&source{
			name: fmt.Sprint("honest-", i), key: key(i, chat), terms: terms(rule(100, time.Second, "realtime", 2*time.Second)),
			gap: s.poisson(80), service: s.exponential(20 * time.Millisecond), to: 30 * time.Second,
		}))
	}
	// The inventor sends 4,000/s under 1,000 tenants, each with 100/s of its own if that were all.
	var invented []*source
	for i := range 1000 {
		k := key(99, chat)
		k.Tenant = fmt.Sprint("t", i)
		invented = append(invented, s.add(&source{
			name: k.Tenant, key: k, terms: terms(rule(100, time.Second, "realtime", 2*time.Second)),
			gap: s.poisson(4), service: s.exponential(20 * time.Millisecond), to: 30 * time.Second,
		}))
	}
	s.run(40 * time.Second)
	good, bad := sum("honest", honest...), sum("invented", invented...)
	t.Log(good)
	t.Log(bad)
	if good.allRefused() != 0 {
		t.Errorf("honest callers were refused %v", good.refused)
	}
	if p99 := quantile(good.waits, .99); p99 > 200*time.Millisecond {
		t.Errorf("honest callers wait p99 %v", p99)
	}
	// 3,200/s less the honest 1,600/s are left for him.
	if rate := float64(bad.granted) / 30; rate > 1700 {
		t.Errorf("the inventor got %.0f/s", rate)
	}
}

func TestHogsBesideSmallCallers(t *testing.T) {
	s := newSimulation(t, onePool(32, 55))
	var small, hogs []*source
	for i := range int32(50) {
		small = append(small, s.add(&source{
			name: fmt.Sprint("small-", i), key: key(i, chat), terms: terms(rule(10, time.Second, "standard", 2*time.Second)),
			gap: s.poisson(5), service: s.exponential(50 * time.Millisecond), to: 60 * time.Second,
		}))
	}
	for i := range int32(5) {
		hogs = append(hogs, s.add(&source{
			name: fmt.Sprint("hog-", i), key: key(100+i, chat), terms: terms(rule(10, time.Second, "standard", 2*time.Second)),
			gap: s.poisson(400), service: s.exponential(50 * time.Millisecond), to: 60 * time.Second,
		}))
	}
	s.run(70 * time.Second)
	a, b := sum("small", small...), sum("hogs", hogs...)
	t.Log(a)
	t.Log(b)
	if a.allRefused() != 0 {
		t.Errorf("small callers were refused %v", a.refused)
	}
	if p99 := quantile(a.waits, .99); p99 > 200*time.Millisecond {
		t.Errorf("small callers wait p99 %v", p99)
	}
	// What the small ones leave is not wasted: 32 seats of 50 ms are 640/s, 250/s are the small ones'.
	if rate := float64(b.granted) / 60; rate < 360 {
		t.Errorf("hogs got %.0f/s of the 390/s that were left", rate)
	}
}

func TestBatchGetsItsShareUnderEndlessRealtimeWork(t *testing.T) {
	s := newSimulation(t, onePool(20, 30))
	for i := range int32(10) {
		// Each alone could fill a quarter of the pool: 20 seats of 20 ms are 1,000/s.
		s.add(&source{
			name: fmt.Sprint("rt-", i), key: key(i, chat), terms: terms(rule(500, time.Second, "realtime", 10*time.Second)),
			gap: s.poisson(250), service: s.exponential(20 * time.Millisecond), to: 120 * time.Second,
		})
	}
	batch := s.add(&source{
		name: "batch", key: key(50, export), terms: terms(rule(50, time.Second, "batch", 60*time.Second)),
		gap: s.poisson(20), service: s.exponential(200 * time.Millisecond), to: 120 * time.Second, seatFrom: 10 * time.Second, seatTo: 110 * time.Second,
	})
	s.run(120 * time.Second)
	t.Log(batch)
	share := batch.seat.Seconds() / (20 * 100)
	t.Logf("batch had %.4f of the seat time", share)
	if share < .048 || share > .056 {
		t.Errorf("batch had %.4f of the seat time, want 0.05", share)
	}
	// Over any ten seconds: its share less one dispatch.
	for from := 10 * time.Second; from < 100*time.Second; from += time.Second {
		n := 0
		for _, g := range batch.grants {
			if g >= from && g < from+10*time.Second {
				n++
			}
		}
		// 5 % of 20 seats over 10 s are 10 seat seconds: about 50 of 200 ms, give or take their spread.
		if n < 25 {
			t.Errorf("from %v: %d dispatches of batch in 10 s", from, n)
		}
	}
}
