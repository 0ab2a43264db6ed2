package flat

import (
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
)

func TestALimitLetsItsRatePassAndNoMore(t *testing.T) {
	t0 := time.Unix(1000, 0)
	for _, step := range []struct {
		name     string
		qps      int
		gap      time.Duration // between requests
		requests int
		want     int // that pass
	}{
		{"within the rate", 100, 10 * time.Millisecond, 1000, 1000},
		{"a moment's burst, as deep as the bucket", 100, 0, 30, 10},
		{"twice the rate for 10 s", 100, 5 * time.Millisecond, 2000, 1009}, // 10 s x 100/s, and the bucket less the last gap
		{"a rate below ten has a bucket of one", 2, 0, 10, 1},
		{"half a second gives the next", 2, 500 * time.Millisecond, 10, 10},
	} {
		l, passed := NewLimit(step.qps, t0), 0
		for i := range step.requests {
			if l.Allow(t0.Add(time.Duration(i) * step.gap)) {
				passed++
			}
		}
		if passed != step.want {
			t.Errorf("%s: %d passed, want %d", step.name, passed, step.want)
		}
	}
}

func TestALimitSavesNothingBeyondItsBucketAndBearsAClockThatStepsBack(t *testing.T) {
	t0 := time.Unix(1000, 0)
	l := NewLimit(100, t0)
	count := func(now time.Time) (passed int) {
		for range 50 {
			if l.Allow(now) {
				passed++
			}
		}
		return passed
	}
	for i, step := range []struct {
		at   time.Duration
		want int
	}{{0, 10}, {time.Hour, 10}, {time.Minute, 0}, {time.Hour + 50*time.Millisecond, 5}} {
		if got := count(t0.Add(step.at)); got != step.want {
			t.Errorf("step %d: %d passed, want %d", i, got, step.want)
		}
	}
}

func TestTheProxyForwardsWhatTheLimitLetsPassAndRefusesTheRestAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		behind, front := fasthttputil.NewInmemoryListener(), fasthttputil.NewInmemoryListener()
		var served atomic.Int64
		upstream := &fasthttp.Server{NoDefaultDate: true, Handler: func(ctx *fasthttp.RequestCtx) {
			served.Add(1)
			time.Sleep(20 * time.Millisecond)
			ctx.SetStatusCode(201)
			ctx.Write(ctx.Path())
			ctx.Write(ctx.Request.Header.Peek("X-API-Key"))
		}}
		go upstream.Serve(behind)
		down := atomic.Bool{}
		proxy := New(NewLimit(20, time.Now()), func(string) (net.Conn, error) {
			if down.Load() {
				return nil, net.ErrClosed
			}
			return behind.Dial()
		})
		go proxy.Serve(front)
		client := &fasthttp.HostClient{Addr: "proxy", Dial: func(string) (net.Conn, error) { return front.Dial() }}
		ask := func(path string) (status int, body, retry string) {
			request, answer := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			request.SetRequestURI("http://proxy" + path)
			request.Header.Set("X-API-Key", "k")
			if err := client.Do(request, answer); err != nil {
				t.Fatal(err)
			}
			return answer.StatusCode(), string(answer.Body()), string(answer.Header.Peek("Retry-After"))
		}
		for range 100 { // they do not count
			if status, _, _ := ask(ReadyPath); status != 200 {
				t.Fatal(status)
			}
		}
		if status, body, _ := ask("/v1/chat/x"); status != 201 || body != "/v1/chat/xk" {
			t.Errorf("%d %q", status, body)
		}
		began := time.Now()
		ask("/a") // 20 ms of 50 ms pass: the bucket of two is empty after it
		for range 5 {
			if status, _, retry := ask("/b"); status != 429 || retry != "1" {
				t.Errorf("%d, Retry-After %q", status, retry)
			}
		}
		if took := time.Since(began); took != 20*time.Millisecond {
			t.Errorf("one forwarded and five refused took %v", took)
		}
		if n := served.Load(); n != 2 {
			t.Errorf("the upstream saw %d, want 2", n)
		}
		down.Store(true)
		behind.Close()
		time.Sleep(2 * time.Minute) // the idle connections run out
		if status, _, _ := ask("/c"); status != 502 {
			t.Errorf("without an upstream: %d", status)
		}
		client.CloseIdleConnections()
		front.Close()
		time.Sleep(10 * time.Minute)
	})
}
