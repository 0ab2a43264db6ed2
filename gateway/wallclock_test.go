package gateway

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"
	"go.uber.org/zap"

	"tidegate/gateway/console"
	"tidegate/gateway/upstream"
)

// stepped is the moment t as it is read after somebody has set the wall clock: another date, and the same moment to
// the clock that only runs.
func stepped(t time.Time, by time.Duration) time.Time {
	p := (*struct { // time.Time
		wall uint64 // 1 bit: there is a monotonic reading; 33 bits: seconds since 1885; 30 bits: ns
		ext  int64  // that reading
		loc  *time.Location
	})(unsafe.Pointer(&t))
	if p.wall>>63 == 0 {
		panic("the moment has no monotonic reading")
	}
	p.wall += uint64(by/time.Second) << 30
	return t
}

func TestASteppedMomentIsTheSameMoment(t *testing.T) {
	now := time.Now()
	for _, by := range []time.Duration{8 * time.Hour, -8 * time.Hour} {
		if then := stepped(now, by); !then.Equal(now.Add(0)) || then.Sub(now) != 0 || then.Round(0).Sub(now.Round(0)) != by || time.Since(then) > time.Minute {
			t.Errorf("%v stepped by %v is %v", now, by, then)
		}
	}
}

// steps is a gateway whose requests arrive when a test says. Seats come back in real time, of which little passes.
type steps struct {
	t *testing.T
	g *Gateway
}

func newSteps(t *testing.T, text string) *steps {
	g, err := New(configOf(t, text), Options{Version: "test", NoDate: true, Log: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	return &steps{t, g}
}

// seat is a request that has one.
type seat struct{ x *exchange }

func (s seat) done() {
	s.x.SeatDone(upstream.Result{})
	s.x.Finished(upstream.Result{Status: 200})
	s.x.leave()
}

// arrive brings a request through all stages up to its seat; with none, it was refused as the answer says.
func (s *steps) arrive(by time.Duration, address, path, key string, more ...string) (got *seat, a reply) {
	s.t.Helper()
	var req fasthttp.Request
	head := "GET " + path + " HTTP/1.1\r\nHost: api.example\r\nX-API-Key: " + key + "\r\n" + strings.Join(append(more, ""), "\r\n") + "\r\n"
	if err := req.Header.Read(bufio.NewReader(strings.NewReader(head))); err != nil {
		s.t.Fatal(err)
	}
	ctx := &fasthttp.RequestCtx{}
	ctx.Init(&req, &net.TCPAddr{IP: net.ParseIP(address), Port: 1}, nil)
	x := s.g.begin(ctx)
	x.start = stepped(x.start, by)
	if x.identify() && x.meter() && x.admit() {
		x.forwarded = true
		return &seat{x}, reply{status: 200}
	}
	a = reply{status: ctx.Response.StatusCode(), body: string(ctx.Response.Body()), header: map[string][]string{}}
	for name, value := range ctx.Response.Header.All() {
		a.header.Add(string(name), string(value))
	}
	x.leave()
	return nil, a
}

var wallSteps = []time.Duration{0, 8 * time.Hour, -8 * time.Hour, 0, -8 * time.Hour, 8 * time.Hour, 0}

func TestAStepOfTheWallClockRefillsNothing(t *testing.T) {
	for name, rule := range map[string]string{
		"a window": `rate = "3/10m"`, "a bucket": "rate = \"1/10m\"\nburst = 3", "a rate of the address": "", "a rate of the caller": `rate = "100/s"`,
	} {
		t.Run(name, func(t *testing.T) {
			text := changed(t, basic, `rate = "100/s"`, "over_rate = \"reject\"\n"+rule)
			code := "rate_exceeded"
			switch name {
			case "a rate of the address":
				text, code = "[server]\nrate_per_ip = \"3/10m\"\n"+basic, "address_limited"
			case "a rate of the caller":
				text = changed(t, text, `name = "plain"`, "name = \"plain\"\ncaller_rate = \"3/10m\"")
			}
			s := newSteps(t, text)
			for i := range 3 {
				got, a := s.arrive(wallSteps[i], "192.0.2.1", "/v1/chat/x", "ann")
				if got == nil {
					t.Fatalf("%d: %d %s", i, a.status, a.body)
				}
				got.done()
			}
			for i, by := range wallSteps {
				got, a := s.arrive(by, "192.0.2.1", "/v1/chat/x", "ann")
				if got != nil {
					t.Fatalf("%d, stepped by %v: served once more", i, by)
				}
				a.isHonest(t, "refused")
				// A bucket of an address has its next in a third of ten minutes, the others in all of it, and each caller's
				// spread is at most a fifth: nothing of it is hours.
				seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
				if a.code() != code || err != nil || seconds < 3*60 || seconds > 12*60+1 {
					t.Errorf("%d, stepped by %v: %d %s, Retry-After %s", i, by, a.status, a.body, a.header.Get("Retry-After"))
				}
				s.g.scheduler.Tidy()
				s.g.step(stepped(time.Now(), by))
			}
		})
	}
}

func TestAStepOfTheWallClockRefusesNobody(t *testing.T) {
	s := newSteps(t, "[server]\nrate_per_ip = \"200/s\"\n"+changed(t, basic, `rate = "100/s"`, "rate = \"100/10m\"\nover_rate = \"reject\"",
		"seats = 2", "seats = 2\nlong_ceiling = 1.0", `max_wait = "2s"`, `max_wait = "1h"`))
	// Before the step: both seats are taken, and two wait for one.
	var held []*seat
	for range 2 {
		got, a := s.arrive(0, "192.0.2.1", "/v1/chat/x", "ann")
		if got == nil {
			t.Fatalf("%d %s", a.status, a.body)
		}
		held = append(held, got)
	}
	granted := make(chan *seat, 100)
	wait := func(by time.Duration, address, key string) {
		before := s.g.snapshot().Pools[0].Waiting
		go func() {
			got, a := s.arrive(by, address, "/v1/chat/x", key)
			if got == nil {
				t.Errorf("stepped by %v, %s: %d %s", by, key, a.status, a.body)
			}
			granted <- got
		}()
		until(t, "it to wait", func() bool { return s.g.snapshot().Pools[0].Waiting == before+1 })
	}
	wait(0, "192.0.2.1", "ann")
	wait(0, "192.0.2.1", "ann")
	// After each step others come, known and new, and wait as well; who waited before is not given up.
	waiting := 2
	for i, by := range wallSteps {
		wait(by, "192.0.2.1", "ann")
		wait(by, fmt.Sprint("192.0.2.", i+2), "bob")
		waiting += 2
		s.g.step(stepped(time.Now(), by))
		s.g.scheduler.Tidy()
		if n := s.g.snapshot().Pools[0].Waiting; n != waiting {
			t.Errorf("stepped by %v: %d wait, want %d", by, n, waiting)
		}
		// A pool with a free seat serves at once.
		got, a := s.arrive(by, "192.0.2.1", "/v1/chat/x", "vip", "X-Max-Wait: 0")
		if got == nil {
			t.Fatalf("stepped by %v: %d %s", by, a.status, a.body)
		}
		got.done()
	}
	for _, h := range held {
		h.done()
	}
	for range waiting {
		select {
		case got := <-granted:
			if got != nil {
				got.done()
			}
		case <-time.After(socketBound):
			t.Fatal("who waited gets no seat")
		}
	}
	if st := s.g.snapshot(); st.Pools[0].InUse != 0 || st.Pools[0].Waiting != 0 || len(st.Surges) != 0 || st.Promise.RefusedWithinRate != 0 {
		t.Errorf("%+v, surges %v, promise %+v", st.Pools[0], st.Surges, st.Promise)
	}
	if n := s.g.active.Load(); n != 0 {
		t.Errorf("%d under way", n)
	}
	// What was used is still used, and no more.
	for key, used := range map[string]int{"ann": 2 + 2 + len(wallSteps), "bob": len(wallSteps)} {
		flow := console.FlowView{}
		for _, f := range s.g.snapshot().Flows {
			if f.Caller == key {
				flow = f
			}
		}
		if got := int(flow.Occupancy*100 + 0.5); got != used || flow.Admitted != uint64(used) {
			t.Errorf("%s: %d of 100 used, %d admitted; want %d", key, got, flow.Admitted, used)
		}
	}
}
