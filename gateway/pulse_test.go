package gateway

import (
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"tidegate/scheduler"
)

func TestTheLogTellsOfAQueueThatStandsAndWhenItIsGone(t *testing.T) {
	core, said := observer.New(zap.InfoLevel)
	log, t0 := zap.New(core), time.Unix(1e9, 0)
	p := newPulse(t0)
	at := func(second, waiting int, oldest time.Duration) []observer.LoggedEntry {
		p.queue(log, t0.Add(time.Duration(second)*time.Second), &scheduler.Stats{
			Pools:  []scheduler.PoolStats{{Name: "shared", Seats: 64, InUse: 60}},
			Levels: []scheduler.LevelStats{{Pool: "shared", Level: "batch", Waiting: waiting, OldestWait: oldest, PerSecond: 12.3456}},
		}, func(q queueName) string { return "heron of " + q.pool + " " + q.level })
		return said.TakeAll()
	}
	none := func(what string, lines []observer.LoggedEntry) {
		t.Helper()
		if len(lines) != 0 {
			t.Errorf("%s: %v", what, lines)
		}
	}
	none("empty", at(0, 0, 0))
	none("new", at(1, 5, time.Second))
	none("gone within a second", at(2, 0, 0))
	none("new again", at(3, 7, time.Second))
	lines := at(4, 9, 2*time.Second)
	if len(lines) != 1 || lines[0].Message != "queue" {
		t.Fatalf("stands for a second: %v", lines)
	}
	for field, want := range map[string]any{
		"pool": "shared", "level": "batch", "waiting": int64(9), "oldest_ms": 2000.0, "per_second": 12.35, "in_use": int64(60), "seats": int64(64),
		"callers": "heron of shared batch",
	} {
		if got := lines[0].ContextMap()[field]; got != want {
			t.Errorf("%s is %v, want %v", field, got, want)
		}
	}
	for second := 5; second < 14; second++ {
		none("said already", at(second, 30, 9*time.Second))
	}
	if lines = at(14, 20, 3*time.Second); len(lines) != 1 {
		t.Errorf("after ten seconds: %v", lines)
	}
	lines = at(15, 0, 0)
	if len(lines) != 1 {
		t.Fatalf("empty again: %v", lines)
	}
	if m := lines[0].ContextMap(); m["waiting"] != int64(0) || m["most"] != int64(30) || m["longest_ms"] != 9000.0 || m["stood_ms"] != 12000.0 {
		t.Errorf("%v", m)
	}
	none("still empty", at(16, 0, 0))
	p.queue(log, t0.Add(time.Minute), &scheduler.Stats{}, nil)
	if len(p.queues) != 0 {
		t.Error("a queue that is gone is remembered")
	}
}

func TestTheLogNamesTheThreeWhoHaveMostWaiting(t *testing.T) {
	for want, counts := range map[string]map[string]int{
		"":                             {},
		"heron 2":                      {"heron": 2},
		"acme 3, bluebird 3":           {"bluebird": 3, "acme": 3},
		"d 9, c 8, b 7, 2 more with 5": {"a": 4, "b": 7, "c": 8, "d": 9, "e": 1},
	} {
		if got := foremost(counts); got != want {
			t.Errorf("%v: %q, want %q", counts, got, want)
		}
	}
}

func TestTheLogTellsOfAvailabilityOnceAMinute(t *testing.T) {
	core, said := observer.New(zap.InfoLevel)
	log, t0 := zap.New(core), time.Unix(1e9, 0)
	p, a := newPulse(t0), &availability{}
	at := func(second int, breaches uint64) []observer.LoggedEntry {
		a.tick()
		p.availability(log, t0.Add(time.Duration(second)*time.Second), a, breaches)
		return said.TakeAll()
	}
	if lines := at(60, 0); len(lines) != 0 {
		t.Errorf("nothing was asked for: %v", lines)
	}
	for range 4 {
		a.settled(outcomeServed)
	}
	if lines := at(119, 0); len(lines) != 0 {
		t.Errorf("too early: %v", lines)
	}
	lines := at(120, 0)
	if len(lines) != 1 || lines[0].Level != zap.InfoLevel || lines[0].Message != "avail" {
		t.Fatal(lines)
	}
	for field, want := range map[string]any{"1m": "100.000%", "5m": "100.000%", "60m": "100.000%", "within_rate": uint64(4), "failed": uint64(0), "refused_within_rate": uint64(0)} {
		if got := lines[0].ContextMap()[field]; got != want {
			t.Errorf("%s is %v, want %v", field, got, want)
		}
	}
	a.settled(outcomeRefused)
	lines = at(180, 1)
	if len(lines) != 1 || lines[0].Level != zap.WarnLevel || lines[0].ContextMap()["1m"] != "80.000%" || lines[0].ContextMap()["refused_within_rate"] != uint64(1) {
		t.Error(lines)
	}
}

func TestAShareIsNotRoundedUpToAll(t *testing.T) {
	for share, want := range map[float64]string{1: "100.000%", 0: "0.000%", .999999: "99.999%", .5: "50.000%"} {
		if got := formatShare(share); got != want {
			t.Errorf("%v is %s, want %s", share, got, want)
		}
	}
}
