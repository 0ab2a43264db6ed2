package openloop

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

func TestAQueueInFrontOfTheConnectionsIsFirstComeFirstServed(t *testing.T) {
	inBubble(t, func(*fasthttp.RequestCtx) { time.Sleep(100 * time.Millisecond) }, func(t *testing.T, dial func(context.Context) (net.Conn, error)) {
		arrivals := every(10*time.Millisecond, 20)
		_, results, err := Run(t.Context(), Plan{Arrivals: arrivals, Requests: get(time.Second), Dial: dial, MaxConns: 2, Grace: time.Minute, Queue: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range results {
			// Two at a time, each pair 100 ms after the one before.
			want := time.Duration(i/2)*100*time.Millisecond + arrivals[i%2].At
			if r := &results[i]; r.Sent != want || r.Done != want+100*time.Millisecond || r.Status != 200 {
				t.Errorf("request %d: %+v, want it sent at %v", i, *r, want)
			}
		}
	})
}

func TestAnInterruptEndsAlsoWhoWaitsForAConnection(t *testing.T) {
	inBubble(t, func(*fasthttp.RequestCtx) { time.Sleep(10 * time.Second) }, func(t *testing.T, dial func(context.Context) (net.Conn, error)) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		_, results, err := Run(ctx, Plan{Arrivals: every(0, 5), Requests: get(time.Minute), Dial: dial, MaxConns: 1, Grace: time.Minute, Queue: true})
		if !errors.Is(err, context.Canceled) || time.Since(began) != time.Second || results[0].Failure != GivenUp || results[4].Failure == None {
			t.Errorf("%v after %v, %+v", err, time.Since(began), results)
		}
	})
}

func TestAnInterruptDoesNotWaitForALateArrival(t *testing.T) {
	inBubble(t, func(*fasthttp.RequestCtx) {}, func(t *testing.T, dial func(context.Context) (net.Conn, error)) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		_, results, err := Run(ctx, Plan{Arrivals: every(time.Hour, 2), Requests: get(time.Minute), Dial: dial, MaxConns: 1})
		if !errors.Is(err, context.Canceled) || time.Since(began) != time.Second || results[0].Status != 200 || results[1].Failure != Unsent {
			t.Errorf("%v after %v, %+v", err, time.Since(began), results)
		}
	})
}

func TestAPlanMayStopAndIsToldWhatComes(t *testing.T) {
	inBubble(t, func(*fasthttp.RequestCtx) { time.Sleep(100 * time.Millisecond) }, func(t *testing.T, dial func(context.Context) (net.Conn, error)) {
		var mu sync.Mutex
		seen, most := 0, 0
		arrivals := every(10*time.Millisecond, 50)
		_, results, err := Run(t.Context(), Plan{
			Arrivals: arrivals, Requests: get(time.Second), Dial: dial, MaxConns: 100, Grace: time.Minute,
			Stop: func(out int) bool { most = max(most, out); return out >= 7 },
			Seen: func(r *Result) {
				mu.Lock()
				defer mu.Unlock()
				if seen++; r.Status != 200 || r.Done-r.Sent != 100*time.Millisecond {
					t.Errorf("told %+v", *r)
				}
			},
		})
		if err != nil || most != 7 || seen != 7 {
			t.Fatalf("%v, %d out at most, %d told; want 7", err, most, seen)
		}
		for i, r := range results {
			if want := i >= 7; (r.Failure == Skipped) != want {
				t.Errorf("request %d: %v", i, r.Failure)
			}
		}
		if l := Lags(arrivals, results, []Phase{{Name: "all", To: time.Hour}})[0]; l.Unsent != 0 || l.Max != 0 {
			t.Errorf("what was never to be sent counts as lag: %+v", l)
		}
	})
}
