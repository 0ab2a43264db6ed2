package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// fakeGateway does the least that the promo scenario asks of a gateway: pools of seats, paid work first, the
// surging caller last and under its ceiling, and a bound on what one caller has waiting. Its faults can be
// switched on, so that the checks are seen to find them.
type fakeGateway struct {
	cast    map[string]*fakeFlow // by key
	log     io.Writer
	forward fasthttp.HostClient

	blind     bool // takes everybody for one pool and one rank
	unlimited bool // takes no account of seats
	accusing  bool // finds a surge in the morning

	mu    sync.Mutex
	pools map[string]*fakePool
}

type fakePool struct {
	seats, surgeSeats, inUse int
	waiting                  [3][]chan struct{} // by rank
}

// fakeFlow is a member of the cast as the gateway sees it.
type fakeFlow struct {
	member
	recent  []time.Time // arrivals of the last second
	paid    []time.Time
	surge   bool
	waiting int
}

// fakeMaxWaiting is of one caller.
const fakeMaxWaiting = 1000

func newFakeGateway(cast []member, upstream func(string) (net.Conn, error), log io.Writer) *fakeGateway {
	g := &fakeGateway{
		cast: make(map[string]*fakeFlow), log: log,
		forward: fasthttp.HostClient{Addr: "upstream", Dial: upstream, MaxConns: 10000, MaxIdemponentCallAttempts: 1},
		pools: map[string]*fakePool{
			"shared": {seats: sharedSeats, surgeSeats: sharedSeats / 2},
			"vip":    {seats: vipSeats, surgeSeats: vipSeats},
		},
	}
	for _, m := range cast {
		g.cast[m.key()] = &fakeFlow{member: m}
	}
	return g
}

func (g *fakeGateway) handle(ctx *fasthttp.RequestCtx) {
	flow := g.cast[string(ctx.Request.Header.Peek("X-API-Key"))]
	if flow == nil {
		g.refuse(ctx, 401, "caller_unknown", false)
		return
	}
	pool := g.pools[flow.pool]
	if g.blind {
		pool = g.pools["shared"]
	}
	arrived := time.Now()
	g.mu.Lock()
	rank := g.meter(flow, arrived)
	if flow.waiting >= fakeMaxWaiting {
		g.mu.Unlock()
		g.refuse(ctx, 429, "queue_full", true)
		return
	}
	flow.waiting++
	turn := make(chan struct{})
	pool.waiting[rank] = append(pool.waiting[rank], turn)
	g.dispatch(pool)
	g.mu.Unlock()
	<-turn

	if wait := time.Since(arrived); wait > time.Millisecond {
		ctx.Response.Header.Set("Server-Timing", fmt.Sprintf("queue;dur=%.1f", wait.Seconds()*1000))
	}
	g.pass(ctx, flow)
	g.mu.Lock()
	flow.waiting--
	pool.inUse--
	g.dispatch(pool)
	g.mu.Unlock()
}

// meter is the rank of an arrival: 0 paid, 1 beyond the rate, 2 beyond it and surging.
func (g *fakeGateway) meter(flow *fakeFlow, now time.Time) int {
	lastSecond := func(t time.Time) bool { return now.Sub(t) >= time.Second }
	flow.recent = append(slices.DeleteFunc(flow.recent, lastSecond), now)
	flow.paid = slices.DeleteFunc(flow.paid, lastSecond)
	if surge := len(flow.recent) > 5*flow.quota; surge != flow.surge {
		flow.surge = surge
		if surge {
			g.tell(flow.name, flow.counted, now)
		}
	}
	switch {
	case g.blind:
		return 0
	case len(flow.paid) < flow.quota:
		flow.paid = append(flow.paid, now)
		return 0
	case flow.surge:
		return 2
	}
	return 1
}

func (g *fakeGateway) tell(caller, semantic string, now time.Time) {
	fmt.Fprintf(g.log, `{"level":"info","ts":%q,"msg":"surge","caller":%q,"semantic":%q,"rate":100}`+"\n",
		now.Format(time.RFC3339Nano), caller, semantic)
	if g.accusing {
		g.accusing = false
		g.tell("morning", "chat", now)
	}
}

func (g *fakeGateway) dispatch(pool *fakePool) {
	for rank := range pool.waiting {
		free := pool.seats
		if rank == 2 {
			free = pool.surgeSeats
		}
		for len(pool.waiting[rank]) > 0 && (pool.inUse < free || g.unlimited) {
			close(pool.waiting[rank][0])
			pool.waiting[rank] = pool.waiting[rank][1:]
			pool.inUse++
		}
	}
}

func (g *fakeGateway) pass(ctx *fasthttp.RequestCtx, flow *fakeFlow) {
	request := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(request)
	request.SetRequestURI("http://upstream" + flow.route)
	request.Header.Set("X-Tidegate-Caller", flow.name)
	request.Header.Set("X-Tidegate-Semantic", flow.counted)
	answer := fasthttp.AcquireResponse()
	defer fasthttp.ReleaseResponse(answer)
	if err := g.forward.Do(request, answer); err != nil {
		g.refuse(ctx, 502, "upstream_error", true)
		return
	}
	ctx.SetBody(answer.Body())
}

func (g *fakeGateway) refuse(ctx *fasthttp.RequestCtx, status int, code string, retryable bool) {
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/problem+json")
	if retryable {
		ctx.Response.Header.Set("Retry-After", "3")
	}
	json.NewEncoder(ctx).Encode(map[string]any{"type": "urn:tidegate:problem:" + code, "status": status, "code": code})
}

// admin answers what the scenario asks of the admin listener.
func (g *fakeGateway) admin(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/readyz":
	case "/metrics":
		fmt.Fprintln(ctx, `tidegate_refused_within_rate_total{semantic="chat"} 0`)
	case "/api/v1/snapshot":
		fmt.Fprintln(ctx, `{"surges":[],"config":{"version":1,"error":""}}`)
	default:
		ctx.SetStatusCode(404)
	}
}

// fakeMain is the fake as a program: it takes the addresses from the config and the callers from the cast.
func fakeMain(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	find := func(pattern string) string { return string(regexp.MustCompile(pattern).FindSubmatch(text)[1]) }
	upstream := find(`url = "http://([^"]+)"`)
	g := newFakeGateway(promoCast(timeline{quiet: time.Minute, jump: time.Minute, after: time.Minute}),
		func(string) (net.Conn, error) { return net.Dial("tcp", upstream) }, os.Stdout)
	go fasthttp.ListenAndServe(find(`\[admin\]\nlisten = "([^"]+)"`), g.admin)
	return fasthttp.ListenAndServe(find(`\[server\]\nlisten = "([^"]+)"`), g.handle)
}
