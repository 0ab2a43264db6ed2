package upstream

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidegate/gateway/config"
)

func TestRoundRobinFollowsTheWeights(t *testing.T) {
	for _, tc := range []struct {
		weights []int
		want    string // the order of a round
	}{
		{[]int{1, 1, 1}, "abc"},
		{[]int{5, 1, 1}, "aabacaa"},
		{[]int{2, 4}, "bab"},
		{[]int{0, -1}, "ab"},
	} {
		c := upstreamConfig()
		for i, w := range tc.weights {
			c.Targets = append(c.Targets, config.Target{URL: "http://" + string(rune('a'+i)), Weight: w})
		}
		u, err := New(c, Options{})
		if err != nil {
			t.Fatal(err)
		}
		f := u.fleet.Load()
		f.turn.Store(uint32(len(tc.want) - 1)) // the next one is the first of a round
		got := ""
		for range len(tc.want) {
			got += strings.TrimPrefix(f.targets[f.pick()].url, "http://")
		}
		if got != tc.want {
			t.Errorf("weights %v: %s, want %s", tc.weights, got, tc.want)
		}
	}
}

func TestRoundRobinOfHugeWeightsStaysSmall(t *testing.T) {
	s := spread([]int{1_000_000, 999_999, 1})
	count := map[uint16]int{}
	for _, i := range s {
		count[i]++
	}
	if len(s) > maxSchedule+3 || count[2] != 1 || count[0] < 500 || count[1] < 500 {
		t.Errorf("%d entries: %v", len(s), count)
	}
}

func TestLeastInFlightCountsByWeight(t *testing.T) {
	c := upstreamConfig()
	c.Balance = "least_in_flight"
	for i, w := range []int{3, 1} {
		c.Targets = append(c.Targets, config.Target{URL: "http://" + string(rune('a'+i)), Weight: w})
	}
	u, err := New(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := u.fleet.Load()
	for range 400 {
		f.targets[f.pick()].inFlight.Add(1)
	}
	if a, b := f.targets[0].inFlight.Load(), f.targets[1].inFlight.Load(); a != 300 || b != 100 {
		t.Errorf("in flight %d and %d, want 300 and 100", a, b)
	}
	f.targets[0].inFlight.Store(0) // a drained
	for range 50 {
		if i := f.pick(); i != 0 {
			t.Fatal("the loaded target was chosen beside an empty one")
		}
		f.targets[0].inFlight.Add(1)
	}
}

func TestEqualTargetsTakeTurns(t *testing.T) {
	c := upstreamConfig("http://a", "http://b", "http://c")
	c.Balance = "least_in_flight"
	u, err := New(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := u.fleet.Load()
	count := [3]int{}
	for range 300 {
		count[f.pick()]++ // and it is done at once
	}
	if count != [3]int{100, 100, 100} {
		t.Errorf("idle targets were chosen %v times", count)
	}
}

func TestWhatIsNoUpstream(t *testing.T) {
	for _, tc := range []struct {
		name string
		c    config.Upstream
		want string
	}{
		{"no targets", upstreamConfig(), "no targets"},
		{"no scheme", upstreamConfig("127.0.0.1:9001"), `"127.0.0.1:9001"`},
		{"no host", upstreamConfig("http://:80"), "http://host:port"},
		{"https", upstreamConfig("https://a"), "http://host:port"},
		{"a path", upstreamConfig("http://a/b"), "without path"},
		{"a query", upstreamConfig("http://a?b"), "without path"},
		{"a user", upstreamConfig("http://u:p@a"), "without path"},
		{"an unknown builtin", upstreamConfig("builtin:other"), SampleURL},
		{"an unknown balance", func() config.Upstream { c := upstreamConfig("http://a"); c.Balance = "hash"; return c }(), "round_robin"},
	} {
		if _, err := New(tc.c, Options{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want something about %q", tc.name, err, tc.want)
		}
	}
	for raw, want := range map[string]string{"http://a": "a:80", "http://a:9001/": "a:9001", "http://[::1]:9001": "[::1]:9001", "http://[::1]": "[::1]:80"} {
		if got, _, err := parseTarget(raw); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", raw, got, err, want)
		}
	}
}

func TestAReloadKeepsConnectionsAndCounts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, Options{}, map[string]targetFunc{"a": always(ok("a")), "b": says(10*time.Second, events, chunk("x"), "0\r\n\r\n")})
		want := func(body string) {
			t.Helper()
			if _, got, err := r.get(simpleGet); err != nil || got != body {
				t.Errorf("got %q, %v; want %q", got, err, body)
			}
		}
		only := func(urls ...string) {
			t.Helper()
			if err := r.up.Update(upstreamConfig(urls...), r.up.fleet.Load().opts); err != nil {
				t.Fatal(err)
			}
		}
		// a has a connection that is kept; b streams for twenty seconds.
		only("http://a")
		want("a")
		only("http://b", "http://a")
		want("a") // the second of the round
		r.client().send(simpleGet)
		synctest.Wait()
		states := r.up.Targets()
		if states[0].URL != "http://b" || states[0].InFlight != 1 || states[1].InFlight != 0 {
			t.Errorf("targets are %+v", states)
		}
		gone := r.up.fleet.Load().targets[0]

		// b goes: its stream ends in peace, and its connection is not kept.
		only("http://a")
		want("a")
		if gone.inFlight.Load() != 1 {
			t.Error("the stream of the removed target was cut")
		}
		time.Sleep(25 * time.Second)
		synctest.Wait()
		if gone.inFlight.Load() != 0 || len(gone.idle) != 0 {
			t.Errorf("the removed target has %d in flight and %d idle connections", gone.inFlight.Load(), len(gone.idle))
		}

		// A reload that is wrong changes nothing.
		if err := r.up.Update(upstreamConfig("http://a", "ftp://b"), r.up.fleet.Load().opts); err == nil {
			t.Error("a wrong target was taken")
		}
		want("a")
		r.end()
	})
}

func TestAReloadOfTheSameKeepsTheConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, Options{}, one(always(ok("a"))))
		for range 5 {
			if _, _, err := r.get(simpleGet); err != nil {
				t.Fatal(err)
			}
			if err := r.up.Update(upstreamConfig("http://a"), r.up.fleet.Load().opts); err != nil {
				t.Fatal(err)
			}
		}
		r.end()
		if r.dials["a"] != 1 {
			t.Errorf("%d connections, want one", r.dials["a"])
		}
	})
}
