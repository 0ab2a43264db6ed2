package main

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestAPutterChangesWhatItPutLast(t *testing.T) {
	p := &putter{config: reloadConfig}
	first, err := p.render(0)
	if err != nil {
		t.Fatal(err)
	}
	f, admin := newFakeAdmin(t, string(first))
	p.admin = admin
	zero := time.Now()
	for _, step := range []struct {
		name    string
		n       int
		before  func()
		wrong   string // ""; the change is made
		removed bool
		version int
	}{
		{"the next step", 1, nil, "", false, 2},
		{"one without digests", 8, nil, "", true, 3},
		{"another without them", 9, nil, "", false, 4},
		{"the same once more", 9, nil, "said to change nothing", false, 4},
		{"the first", 0, nil, "", false, 5},
		{"somebody else changed it", 1, func() { f.take("x = 1") }, "not the one of step 0", false, 0},
		{"and back", 1, func() { f.take(string(first)) }, "", false, 8},
		{"no answer", 2, func() { f.mute = 9 }, "cannot put the config of step 2", false, 0},
	} {
		if step.before != nil {
			f.mu.Lock()
			step.before()
			f.mu.Unlock()
		}
		p.send(t.Context(), zero, step.n)
		got := p.puts[len(p.puts)-1]
		if (got.Err == nil) != (step.wrong == "") || got.Err != nil && !strings.Contains(got.Err.Error(), step.wrong) {
			t.Errorf("%s: %v, want %q", step.name, got.Err, step.wrong)
		}
		if got.Version != step.version || got.removed != step.removed || got.At < 0 || got.Took < 0 {
			t.Errorf("%s: %+v", step.name, got)
		}
	}
}

func TestAPutterThatIsLateEndsItsSpanAllTheSameOnTheFirstConfig(t *testing.T) {
	p := &putter{config: reloadConfig}
	first, err := p.render(0)
	if err != nil {
		t.Fatal(err)
	}
	f, admin := newFakeAdmin(t, string(first))
	p.admin = admin
	// The span is nearly over: of its 50 steps none is made, but the one back.
	p.last = 7
	seventh, err := p.render(7)
	if err != nil {
		t.Fatal(err)
	}
	f.take(string(seventh))
	next := p.run(t.Context(), time.Now().Add(-5*time.Second), 0, 5*time.Second, 8)
	if next != 8 || len(p.puts) != 1 || p.puts[0].Err != nil || p.last != 0 || f.text != string(first) {
		t.Errorf("next %d, %d puts, %+v", next, len(p.puts), p.puts)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if next := p.run(ctx, time.Now().Add(time.Hour), 0, 5*time.Second, 8); next != 8 || len(p.puts) != 1 {
		t.Errorf("an interrupt: next %d, %d puts", next, len(p.puts))
	}
}
