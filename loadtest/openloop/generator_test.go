package openloop

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"tidegate/loadtest/schedule"
)

// inBubble runs a test in virtual time against a server in memory.
func inBubble(t *testing.T, handler fasthttp.RequestHandler, test func(t *testing.T, dial func(context.Context) (net.Conn, error))) {
	synctest.Test(t, func(t *testing.T) {
		listener := fasthttputil.NewInmemoryListener()
		server := &fasthttp.Server{Handler: handler, NoDefaultDate: true}
		go server.Serve(listener)
		test(t, func(context.Context) (net.Conn, error) { return listener.Dial() })
		listener.Close()
		time.Sleep(time.Minute) // the server's own goroutines run out
	})
}

// every gives n arrivals of one sender, a gap apart.
func every(gap time.Duration, n int) []schedule.Arrival {
	arrivals := make([]schedule.Arrival, n)
	for i := range arrivals {
		arrivals[i].At = time.Duration(i) * gap
	}
	return arrivals
}

func get(timeout time.Duration) []Request {
	return []Request{NewRequest("GET", "test", "/", map[string]string{"X-API-Key": "k"}, "", timeout)}
}

func TestAStalledServerShowsInTheLatencyOfEveryRequestMeantForTheStall(t *testing.T) {
	stallEnds := new(atomic.Int64)
	inBubble(t, func(*fasthttp.RequestCtx) {
		time.Sleep(time.Until(time.Unix(0, stallEnds.Load()))) // all wait for the same moment
		time.Sleep(20 * time.Millisecond)
	}, func(t *testing.T, dial func(context.Context) (net.Conn, error)) {
		// 100/s for 3 s; the server stands still from t = 1 s to t = 2 s. A generator that waited for answers
		// would send one request into the stall and report one slow answer.
		zero := time.Now().Add(Lead)
		time.AfterFunc(Lead+995*time.Millisecond, func() { stallEnds.Store(zero.Add(2 * time.Second).UnixNano()) })
		arrivals := every(10*time.Millisecond, 300)
		_, results, err := Run(t.Context(), Plan{Arrivals: arrivals, Requests: get(10 * time.Second), Dial: dial, MaxConns: 200, Grace: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range arrivals {
			want := 20 * time.Millisecond
			if a.At >= time.Second && a.At < 2*time.Second {
				want += 2*time.Second - a.At
			}
			if got := results[i].Latency(a.At); got != want {
				t.Fatalf("the request meant for %v took %v, want %v", a.At, got, want)
			}
		}
		for _, l := range Lags(arrivals, results, []Phase{{Name: "all", To: time.Hour}}) {
			if l.P99 != 0 || l.Max != 0 {
				t.Errorf("the server's stall is taken for the generator's lag: %+v", l)
			}
		}
	})
}

func TestAGeneratorThatOversleepsSeesItsOwnLagAndTheRunIsVoid(t *testing.T) {
	inBubble(t, func(*fasthttp.RequestCtx) {}, func(t *testing.T, dial func(context.Context) (net.Conn, error)) {
		oversleep := func(by time.Duration) (lags []Lag, worst time.Duration) {
			arrivals := every(10*time.Millisecond, 500)
			_, results, err := Run(t.Context(), Plan{
				Arrivals: arrivals, Requests: get(time.Second), Dial: dial, MaxConns: 10, Grace: time.Second,
				sleep: func(d time.Duration) { time.Sleep(d + by) },
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range arrivals {
				worst = max(worst, results[i].Latency(a.At))
			}
			return Lags(arrivals, results, []Phase{{Name: "all", To: time.Hour}}), worst
		}
		lags, worst := oversleep(4 * time.Millisecond)
		if why := Void(lags); why != "" {
			t.Errorf("4 ms late: void: %s", why)
		}
		if lags[0].Max != 4*time.Millisecond || worst != 4*time.Millisecond {
			t.Errorf("4 ms late: lag %v, worst latency %v; want both to be 4ms", lags[0].Max, worst)
		}
		lags, _ = oversleep(6 * time.Millisecond)
		if why := Void(lags); !strings.Contains(why, "late") {
			t.Errorf("6 ms late: not void (%q), %+v", why, lags)
		}
	})
}

func TestVoidNamesTheBoundAndThePhase(t *testing.T) {
	for _, step := range []struct {
		name string
		lag  Lag
		want string // "" for a good run
	}{
		{"at both bounds", Lag{Phase: "jump", P99: MaxLagP99, Max: MaxLag}, ""},
		{"p99 above", Lag{Phase: "jump", P99: MaxLagP99 + time.Millisecond}, "phase jump 1 % of the requests left more than 6ms late"},
		{"one stall", Lag{Phase: "quiet", Max: 150 * time.Millisecond}, "phase quiet one left 150ms late"},
		{"no connection", Lag{Phase: "jump", Unsent: 3}, "phase jump 3 found no free connection"},
	} {
		got := Void([]Lag{{Phase: "warm"}, step.lag})
		if (got == "") != (step.want == "") || !strings.Contains(got, step.want) {
			t.Errorf("%s: %q, want %q", step.name, got, step.want)
		}
	}
}

func TestArrivalsBeyondTheConnectionsAreUnsentAndVoidTheRun(t *testing.T) {
	inBubble(t, func(*fasthttp.RequestCtx) { time.Sleep(time.Second) }, func(t *testing.T, dial func(context.Context) (net.Conn, error)) {
		arrivals := every(10*time.Millisecond, 10)
		_, results, err := Run(t.Context(), Plan{Arrivals: arrivals, Requests: get(5 * time.Second), Dial: dial, MaxConns: 4, Grace: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		lags := Lags(arrivals, results, []Phase{{Name: "all", To: time.Hour}})
		if lags[0].Unsent != 6 || Void(lags) == "" {
			t.Errorf("%d unsent, void %q; want 6 and a reason", lags[0].Unsent, Void(lags))
		}
	})
}

func TestConnectionsAreKeptAndRenewedWhenTheServerCloses(t *testing.T) {
	inBubble(t, func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/last" {
			ctx.SetConnectionClose()
		}
	}, func(t *testing.T, dial func(context.Context) (net.Conn, error)) {
		dials := 0
		count := func(ctx context.Context) (net.Conn, error) { dials++; return dial(ctx) }
		run := func(path string) {
			dials = 0
			requests := []Request{NewRequest("GET", "test", path, nil, "", time.Second)}
			_, results, err := Run(t.Context(), Plan{Arrivals: every(10*time.Millisecond, 20), Requests: requests, Dial: count, MaxConns: 5, Grace: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range results {
				if r.Failure != None || r.Status != 200 {
					t.Fatalf("%s, request %d: %v, status %d", path, i, r.Failure, r.Status)
				}
			}
		}
		if run("/"); dials != 1 {
			t.Errorf("%d dials for requests that follow each other, want 1", dials)
		}
		if run("/last"); dials != 20 {
			t.Errorf("%d dials where the server closes each time, want 20", dials)
		}
	})
}

func TestAConnectionThatWasIdleForLongIsNotTrusted(t *testing.T) {
	inBubble(t, func(*fasthttp.RequestCtx) {}, func(t *testing.T, dial func(context.Context) (net.Conn, error)) {
		dials := 0
		count := func(ctx context.Context) (net.Conn, error) { dials++; return dial(ctx) }
		// Gaps of 29 s keep the connection, gaps of 31 s do not.
		for gap, want := range map[time.Duration]int{29 * time.Second: 1, 31 * time.Second: 3} {
			dials = 0
			if _, _, err := Run(t.Context(), Plan{Arrivals: every(gap, 3), Requests: get(time.Second), Dial: count, MaxConns: 1, Grace: time.Second}); err != nil {
				t.Fatal(err)
			}
			if dials != want {
				t.Errorf("%d dials for 3 requests %v apart, want %d", dials, gap, want)
			}
		}
	})
}

func TestWhatBecomesOfARequestIsTold(t *testing.T) {
	refused := errors.New("refused")
	handler := func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Path()) {
		case "/waited":
			ctx.Response.Header.Set("Server-Timing", `cache;desc="hit", queue;dur=12.5`)
		case "/refused":
			ctx.SetStatusCode(429)
			ctx.Response.Header.Set("Retry-After", "7")
			ctx.SetBodyString(`{"status": 429, "code": "wait_too_long"}`)
		case "/bare":
			ctx.SetStatusCode(429)
			ctx.Response.Header.Set("Retry-After", "0")
		case "/slow":
			time.Sleep(3 * time.Second)
		case "/endless":
			time.Sleep(time.Hour)
		case "/cut":
			ctx.HijackSetNoResponse(true)
			ctx.Hijack(func(c net.Conn) { c.Close() })
		}
	}
	for _, step := range []struct {
		path    string
		timeout time.Duration
		dial    error
		want    Result
	}{
		{path: "/", want: Result{Status: 200}},
		{path: "/waited", want: Result{Status: 200, Waited: true, Wait: 12500 * time.Microsecond}},
		{path: "/refused", want: Result{Status: 429, Code: "wait_too_long", RetryAfter: 7}},
		{path: "/bare", want: Result{Status: 429}},
		{path: "/slow", timeout: 2 * time.Second, want: Result{Failure: Timeout, Done: 2 * time.Second}},
		{path: "/endless", timeout: 10 * time.Minute, want: Result{Failure: GivenUp, Done: time.Minute}},
		{path: "/cut", want: Result{Failure: Broken}},
		{path: "/", dial: refused, want: Result{Failure: Dial}},
	} {
		inBubble(t, handler, func(t *testing.T, dial func(context.Context) (net.Conn, error)) {
			if step.dial != nil {
				dial = func(context.Context) (net.Conn, error) { return nil, step.dial }
			}
			requests := []Request{NewRequest("GET", "test", step.path, nil, "", max(step.timeout, time.Second))}
			_, results, err := Run(t.Context(), Plan{Arrivals: every(0, 1), Requests: requests, Dial: dial, MaxConns: 1, Grace: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			if results[0] != step.want {
				t.Errorf("%s: %+v, want %+v", step.path, results[0], step.want)
			}
			if step.path == "/endless" {
				time.Sleep(2 * time.Hour) // its handler must end before the bubble does
			}
		})
	}
}

func TestAnInterruptEndsTheRunAtOnce(t *testing.T) {
	inBubble(t, func(*fasthttp.RequestCtx) { time.Sleep(10 * time.Second) }, func(t *testing.T, dial func(context.Context) (net.Conn, error)) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		time.AfterFunc(Lead+1005*time.Millisecond, cancel)
		_, results, err := Run(ctx, Plan{Arrivals: every(100*time.Millisecond, 1000), Requests: get(time.Minute), Dial: dial, MaxConns: 2000, Grace: time.Minute})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want canceled", err)
		}
		if took := time.Since(began); took > 1200*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if results[0].Failure != GivenUp || results[999].Failure != Unsent {
			t.Errorf("the first is %v, the last %v; want given_up and unsent", results[0].Failure, results[999].Failure)
		}
	})
}
