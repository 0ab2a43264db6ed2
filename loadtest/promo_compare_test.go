package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"math"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"tidegate/loadtest/flat"
	"tidegate/loadtest/openloop"
	"tidegate/loadtest/stage"
	"tidegate/loadtest/tally"
	"tidegate/loadtest/upstream"
)

// playWithout plays a brief incident in virtual time at an upstream of finite capacity: through a flat limit, or
// straight where qps is 0.
func playWithout(t *testing.T, qps int) (p *played) {
	synctest.Test(t, func(t *testing.T) {
		var err error
		if p, err = newPlayed(1, brief); err != nil {
			t.Fatal(err)
		}
		behind, front := fasthttputil.NewInmemoryListener(), fasthttputil.NewInmemoryListener()
		sample := upstream.New(upstream.Options{Groups: poolGroups(p.cast), Workers: sharedSeats + vipSeats, Backlog: upstream.Backlog})
		sample.Logger = log.New(io.Discard, "", 0)
		go sample.Serve(behind)
		dial := behind.Dial
		if qps > 0 {
			go flat.New(flat.NewLimit(qps, time.Now()), func(string) (net.Conn, error) { return behind.Dial() }).Serve(front)
			dial = front.Dial
		}
		p.start, p.run.Results, err = openloop.Run(t.Context(), openloop.Plan{
			Arrivals: p.run.Arrivals, Requests: promoRequests(p.cast, "front"),
			Dial:     func(context.Context) (net.Conn, error) { return dial() },
			MaxConns: maxConns, Grace: 20 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		front.Close()
		behind.Close()
		time.Sleep(20 * time.Minute) // the servers' own goroutines run out
	})
	return p
}

func TestWithoutAGatewayTheCallersPayForOneOfThem(t *testing.T) {
	bare := playWithout(t, 0)
	limit := chooseFlat(bare.cast, brief, sharedSeats+vipSeats, 0)
	c := newComparison([ways]*played{bare, playWithout(t, limit.qps), bare}, limit, sharedSeats+vipSeats, "the command")
	if why := c.void(); why != "" {
		t.Fatalf("void in virtual time: %s", why)
	}
	for _, r := range c.Rows {
		s, f := r.Treated[straight], r.Treated[flatly]
		// 4 s of the jump leave a queue of some 2 s at an upstream without a limit; with it there is next to none.
		if s.Jump.P99 < 1500*ms || s.Whole.Served() != s.Whole.Offered {
			t.Errorf("%s, straight: p99 in the jump %v ms, %d of %d served", r.Name, s.Jump.P99, s.Whole.Served(), s.Whole.Offered)
		}
		if f.Jump.P50 > 400*ms || f.Jump.RefusedTotal() == 0 {
			t.Errorf("%s, flat: p50 in the jump %v ms, %v refused", r.Name, f.Jump.P50, f.Jump.Refused)
		}
	}
	// The flat limit takes the same share of everybody, nearly half, for the 4 s.
	vip := c.Rows[0].Treated[flatly]
	if vip.Within != vip.Whole.Offered || vip.Wronged < 120 || vip.Wronged > 220 {
		t.Errorf("vip: %d of %d within its quota, %d of them wrongly refused; want all, and 120 to 220 of 400", vip.Within, vip.Whole.Offered, vip.Wronged)
	}
	if c.wronged(straight) != 0 || c.wronged(flatly) < 400 {
		t.Errorf("%d wrongly refused straight, %d by the flat limit", c.wronged(straight), c.wronged(flatly))
	}
	if c.Plays[flatly].Quiet != 0 {
		t.Errorf("the flat limit refuses %d in quiet time", c.Plays[flatly].Quiet)
	}
}

func TestTheFlatLimitIsTheBestThereIs(t *testing.T) {
	when := timeline{warm: 5 * time.Second, quiet: 25 * time.Second, jump: 20 * time.Second, after: 70 * time.Second}
	c := chooseFlat(promoCast(when), when, 96, 0)
	// The jump: 805 exports of 200 ms and about 320 chats of 20 ms a second are 167.5 workers for 1,125/s.
	if math.Abs(c.jumpCan-645) > 5 || c.qps != int(c.jumpCan*0.95) {
		t.Errorf("the jump's mix: %.0f/s possible, limit %d", c.jumpCan, c.qps)
	}
	// Quiet: 20 exports and 310 chats a second are 10.2 workers.
	if math.Abs(c.quiet-331) > 3 || math.Abs(c.quietCan-3110) > 30 {
		t.Errorf("quiet: %.0f/s offered, %.0f/s possible", c.quiet, c.quietCan)
	}
	if float64(c.qps) < c.quiet+5*math.Sqrt(c.quiet) {
		t.Errorf("%d/s refuses in quiet time", c.qps)
	}
	if given := chooseFlat(promoCast(when), when, 96, 3000); given.qps != 3000 || !strings.Contains(given.String(), "as -flat-qps says") {
		t.Errorf("%+v", given)
	}
}

// compared is a comparison of two kinds of callers, as text needs it.
func compared() *Comparison {
	at := func(within, wronged, offered, served int, p50, p99 tally.Millis) *treatment {
		f := tally.Figures{Offered: offered, AtOnce: served, P50: p50, P99: p99}
		return &treatment{Whole: f, Jump: f, Within: within, Wronged: wronged}
	}
	c := &Comparison{
		Scenario: "promo -compare", Command: "go run ./loadtest promo -compare", Seed: 7, Workers: 96, Backlog: 4096, FlatQPS: 600, FlatWhy: "600/s, because",
		Rows: []comparedRow{
			{Name: "vip-1", Callers: 1, Treated: [ways]*treatment{
				at(3000, 0, 3000, 3000, 24*ms, 5935*ms), at(3000, 329, 3000, 2671, 21*ms, 48*ms), at(3000, 0, 3000, 3000, 22*ms, 24*ms),
			}},
			{Name: "ordinary", Callers: 20, Treated: [ways]*treatment{
				at(100000, 1, 100000, 99999, 24*ms, 5935*ms), at(5, 5, 5, 0, 0, 0), at(0, 0, 5, 5, 22*ms, 24*ms),
			}},
		},
	}
	for way := range ways {
		for i := range c.Rows {
			c.Rows[i].Treated[way].Through = wayNames[way]
		}
		c.Plays = append(c.Plays, comparedPlay{Through: wayNames[way], Offender: "5 of 9 served", Phases: []phase{{Name: "jump", LagP99: ms}}})
	}
	return c
}

func TestTheComparisonIsPrintedAsTextAsMarkdownAndAsJSON(t *testing.T) {
	c := compared()
	var text, markdown bytes.Buffer
	c.print(&text)
	compare(t, "testdata/comparison.golden.txt", text.Bytes())
	c.printMarkdown(&markdown)
	compare(t, "testdata/comparison.golden.md", markdown.Bytes())
	data, err := json.Marshal(c)
	if err != nil || !bytes.Contains(data, []byte(`"wrongly_refused":329`)) {
		t.Errorf("%v\n%s", err, data)
	}
}

func TestAComparisonIsVoidWhereOnePlayIs(t *testing.T) {
	c := compared()
	if c.void() != "" || c.wronged(gated) != 0 || c.wronged(flatly) != 334 {
		t.Errorf("good: void %q, %d, %d", c.void(), c.wronged(gated), c.wronged(flatly))
	}
	c.Rows[1].Treated[gated].Wronged, c.Rows[1].Treated[gated].Why = 3, map[string]int{"wait_expired": 2, "timeout": 1}
	var wronged bytes.Buffer
	if c.print(&wronged); !strings.Contains(wronged.String(), "wrongly refused 3.\n20 ordinary: 1 timeout, 2 wait_expired\n") {
		t.Errorf("%s", wronged.String())
	}
	c.Plays[flatly].Void = "late"
	var text, markdown bytes.Buffer
	c.print(&text)
	c.printMarkdown(&markdown)
	if c.void() != `play "flat limit": late` || !strings.Contains(text.String(), "VOID") || !strings.Contains(markdown.String(), "Void") {
		t.Errorf("void: %q", c.void())
	}
}

func TestOnlyAllOfItIsAHundredPercent(t *testing.T) {
	for _, step := range []struct {
		part, of int
		want     string
	}{{5, 5, "100 %"}, {999999, 1000000, "99.99 %"}, {0, 5, "0.00 %"}, {0, 0, "-"}} {
		if got := percent(step.part, step.of); got != step.want {
			t.Errorf("%d of %d: %s, want %s", step.part, step.of, got, step.want)
		}
	}
}

func TestAFlatLimitAndABareUpstreamAreStages(t *testing.T) {
	behind := upstream.Options{Workers: 1, Backlog: 1}
	for _, step := range []struct {
		name string
		open func() (*stage.Stage, error)
		want int // of three requests at once
	}{
		{"bare", func() (*stage.Stage, error) { return stage.OpenBare(t.Context(), t.TempDir(), behind) }, fasthttp.StatusServiceUnavailable},
		{"flat", func() (*stage.Stage, error) { return stage.OpenFlat(t.Context(), t.TempDir(), 1, behind) }, fasthttp.StatusTooManyRequests},
	} {
		s, err := step.open()
		if err != nil {
			t.Fatal(err)
		}
		statuses := make(chan int, 3)
		for range 3 {
			go func() {
				status, _, _ := fasthttp.Get(nil, "http://"+s.Address+upstream.ExportPrefix+"x")
				statuses <- status
			}()
		}
		seen := map[int]bool{}
		for range 3 {
			seen[<-statuses] = true
		}
		if !seen[200] || !seen[step.want] {
			t.Errorf("%s: %v, want 200 and %d", step.name, seen, step.want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestParagraphsAreBrokenBetweenWords(t *testing.T) {
	for _, step := range []struct {
		text string
		want string
	}{{"", ""}, {"one two", "one two"}, {"one two three", "one two\nthree"}, {"incomprehensible to me", "incomprehensible\nto me"}, {" a  b ", "a b"}} {
		if got := wrap(step.text, 7); got != step.want {
			t.Errorf("%q: %q, want %q", step.text, got, step.want)
		}
	}
}
