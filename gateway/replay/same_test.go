package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// busy is a trace in which callers wait, are refused and surge.
func busy() string {
	var b strings.Builder
	b.WriteString("time_ms,caller,count\n")
	for i := range 400 {
		n := 20
		if i > 200 && i < 230 {
			n = 300
		}
		fmt.Fprintf(&b, "%d,acme,%d\n%d,x,7\n%d,y,3\n", i*1000, n, i*1000, i*1000)
	}
	return b.String()
}

// whole is all that a replay of a trace gives out.
func whole(t *testing.T, path string, o Options) string {
	t.Helper()
	var events bytes.Buffer
	log, err := NewLog(&events, "")
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEngine(configFor(t, platform), Play{Plan: "free", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	tr := opened(t, o, path)
	Run(tr, []*Engine{e}, func(int64, int64) {})
	if err := log.Flush(); err != nil {
		t.Fatal(err)
	}
	r := e.Report(0)
	r.PassedOver(tr)
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WriteText(&events); err != nil {
		t.Fatal(err)
	}
	return events.String() + string(text)
}

func TestTheSameSeedGivesTheSameByteForByte(t *testing.T) {
	path := written(t, "t.csv", busy())
	o := Options{Semantic: "chat", Seed: 5}
	first := whole(t, path, o)
	if again := whole(t, path, o); again != first {
		t.Error("the same replay comes out in another way")
	}
	for _, word := range []string{`"surge"`, `"calm"`, `"refused"`, `"queued"`, `"dispatched"`} {
		if !strings.Contains(first, word) {
			t.Errorf("the trace is too easy: there is no %s", word)
		}
	}
	if o.Seed = 6; whole(t, path, o) == first {
		t.Error("another seed changes nothing")
	}
	o.Spread = Even
	even := whole(t, path, o)
	if o.Seed = 7; even != whole(t, path, o) {
		t.Error("evenly spread, a trace depends on the seed")
	}
}

// The replay must not hold more the longer it goes on.
func TestALongReplayAllocatesNothingMore(t *testing.T) {
	s := newPlay(t, platform, Play{})
	s.engine.log = nil
	from := 0
	part := func() {
		s.poisson(from, 20, 30, "acme", "chat", 1) // beyond its rate: waits, and is refused
		s.poisson(from+20, 20, 100, "promo", "chat", 1)
		from += 40
	}
	part()
	for range 5 {
		part()
	}
	if n := testing.AllocsPerRun(5, part); n > 60 {
		t.Errorf("%v allocations for 2,600 requests", n)
	}
}

func TestManyCallersAreHeldWithinTheBound(t *testing.T) {
	s := newPlay(t, strings.Replace(platform, "[detector]", "[limits]\nmax_flows = 100\n[detector]", 1), Play{})
	s.engine.log = nil
	s.places = newOrigins(100)
	offer := func(from, to int) {
		for i := from; i < to; i++ {
			s.offer(float64(i)/100, fmt.Sprintf("caller%d", i), "chat")
		}
	}
	offer(0, 5000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	offer(5000, 100_000)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Errorf("95,000 callers more take %d bytes", grown)
	}
	s.engine.Finish()
	r := s.engine.Report(5)
	if r.Requests != 100_000 || len(r.Rows) != 5 || r.Rows[0].Caller != others || r.Others == nil || r.Others.Rows+5 != len(s.engine.tallies) || len(s.engine.tallies) > 201 {
		t.Errorf("%d requests, %d rows, first %q, others %+v", r.Requests, len(r.Rows), r.Rows[0].Caller, r.Others)
	}
	if sum := r.Others.Offered + r.Rows[0].Offered + r.Rows[1].Offered + r.Rows[2].Offered + r.Rows[3].Offered + r.Rows[4].Offered; sum != r.Requests {
		t.Errorf("the rows come to %d", sum)
	}
}
