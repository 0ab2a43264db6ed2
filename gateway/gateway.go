package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"go.uber.org/zap"

	"tidegate/gateway/audit"
	"tidegate/gateway/config"
	"tidegate/gateway/console"
	"tidegate/gateway/history"
	"tidegate/gateway/policy"
	"tidegate/gateway/recent"
	"tidegate/gateway/record"
	"tidegate/gateway/upstream"
	"tidegate/scheduler"
)

// Gateway is one running gateway. Make it with New, run it with Run.
type Gateway struct {
	options Options
	began   time.Time

	live      atomic.Pointer[live]
	names     policy.Names
	scheduler *scheduler.Scheduler
	sample    *upstream.Sample
	edge      *edge
	console   *console.Console

	store   *config.Store // nil: nothing is kept
	windows windows
	history atomic.Pointer[history.History] // nil before Run
	recent  recent.Log
	// registry is what callers have registered themselves; nil: nothing.
	registry          policy.Registrations
	desk              callerDesk
	auditRegistration func(console.AuditEntry) // nil: there is no trail
	seasons           seasons
	audit             *audit.Trail
	alerts            *alerting

	parts         []*troublePart // what may be in trouble; not to be changed once Run is called
	keeping       keeping
	recordTrouble recordTrouble

	recorder atomic.Pointer[record.Recorder] // nil: nothing is recorded

	ids       *requestIDs
	bodies    *bodyMemory
	addresses *addressLimit
	watched   watched
	refusals  *ring[console.RefusalView]
	breaches  atomic.Uint64 // promises broken
	available availability
	observed  observed

	census               atomic.Pointer[census] // the last one, at most about a second old; there is one from the start
	taker                censusTaker
	onCensus             []func(*census)                                // told of each, one after another; not to be changed once Run is called
	registrationsOf      func(caller string) []console.RegistrationView // nil: there are none
	registrationsWaiting func() int                                     // registrations that wait for an owner; nil: none
	troubles             func() []console.TroubleView                   // nil: there are none

	telemetry *telemetry
	nobody    *flowSeries // of requests that are refused before their caller is known
	logs      *logs
	access    *accessLog

	draining atomic.Bool  // no new work
	unready  atomic.Bool  // /readyz says no
	active   atomic.Int64 // requests under way

	warned     atomic.Int64   // when it was last looked at whether promises fit; ns since 1970
	signalled  atomic.Bool    // the next load was asked for by SIGHUP
	started    *config.Config // the one of the start: what no reload can bring into force stays as it says
	loading    sync.Mutex     // one load at a time
	previewing sync.Mutex     // one preview at a time
	loadError  atomic.Value   // string: why the newest configuration was not taken, or what it needs
}

// Options is what a gateway is made of besides its configuration.
type Options struct {
	Path    string                                  // of the config file
	Text    []byte                                  // the file's content that the configuration was loaded from
	State   string                                  // directory of what outlives the process; "": nothing does
	Environ []string                                // for TIDEGATE__ variables
	Version string                                  // of the program
	Log     *zap.Logger                             // instead of standard error; for tests
	Listen  func(addr string) (net.Listener, error) // instead of TCP; for tests
	Started func(data, admin net.Addr)              // both listeners are open

	// MaxConnections is how many connections the limit of open files has room for, whatever the
	// configuration says; 0: any number.
	MaxConnections int

	// Dial connects to http targets instead of the network; for tests.
	Dial func(addr string, timeout time.Duration) (net.Conn, error)
	// Webhook is asked instead of the network that alerts go to; for tests.
	Webhook http.RoundTripper
	// NoDate leaves the Date header out, whose clock is a goroutine without end; for tests.
	NoDate bool
}

// New makes a gateway of a configuration. It opens nothing yet.
func New(c *config.Config, o Options) (*Gateway, error) {
	log, err := newLogs(c.Log)
	if err != nil {
		return nil, err
	}
	if o.Log != nil {
		log.Logger = o.Log
	}
	if o.Listen == nil {
		o.Listen = func(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }
	}
	if o.Text == nil && o.Path != "" {
		if o.Text, err = config.ReadFile(o.Path); err != nil {
			return nil, err
		}
	}
	store, err := openState(o.State, log)
	if err != nil {
		return nil, err
	}
	if o.Path != "" {
		config.SweepFile(o.Path)
	}
	c, past, err := atStart(c, &o, store)
	if err != nil {
		return nil, err
	}
	o.fit(c)
	g := &Gateway{
		store:     store,
		audit:     openAudit(o.State, log),
		options:   o,
		began:     time.Now(),
		ids:       newRequestIDs(),
		bodies:    newBodyMemory(int64(c.Server.MaxBodyMemory)),
		addresses: newAddressLimit(c.Server.RatePerIP),
		refusals:  newRing[console.RefusalView](c.Limits.RefusalsKept),
		logs:      log,
		access:    newAccessLog(log.Logger, c.Log),
		sample:    upstream.NewSample(upstream.SampleOptions{}),
	}
	g.watched.on = make(map[*flowData]int)
	g.watched.flows.Recall, g.watched.flows.Left = g.seasons.recall, g.seasons.left
	g.loadError.Store("")
	g.telemetry = newTelemetry(o.Version, c.Metrics.MaxCallers, g.gauges)
	g.nobody = g.telemetry.flow("", "")
	g.openDesk()
	g.auditRegistration = g.consoleAudited
	g.keeping.dir = o.State
	g.alerts = g.newAlerting()
	g.watchOverOwn()
	if err := g.loadFirst(c, past); err != nil {
		g.sample.Close()
		return nil, err
	}
	g.started = c
	g.telemetry.loaded(true, time.Now())
	g.applyAlerts(c)
	g.takeCensus(g.began)
	g.onCensus = append(g.onCensus, g.rememberHistory, g.rememberArrivals)
	g.edge = newEdge(&c.Server, g.ids, quietLogger{}, g.handle, g.refuseEarly)
	g.edge.server.NoDefaultDate = o.NoDate
	g.edge.turnedAway = g.turnedAway
	g.console = console.New(console.Options{
		Tokens: c.Admin.Tokens, Listen: c.Admin.Listen, Gateway: c.Server.Listen,
		Snapshot: g.snapshot, Ready: g.ready, WriteMetrics: g.telemetry.WriteMetrics, Log: log.Logger,
		Explain: g.explain, Explained: policy.Explanation{}, Flows: g.flowList, Refusals: g.lookUpRefusals, Queue: g.queueView, Control: auditedControl{control{g}}, Redact: config.RedactSecrets,
		Callers: g.callersPage, Caller: g.callerDetail,
		Registrations: g.registrations, DecideRegistration: g.decideRegistration,
		Audit: g.auditEntries, Audited: g.consoleAudited, StateDir: o.State,
		History: g.historyView, Check: g.checkConfig, Preview: g.previewConfig,
		Alerts: g.alertsView, TestAlert: g.testAlert,
	})
	return g, nil
}

// start makes the scheduler at the first load.
func (g *Gateway) start(s scheduler.Setup) { g.scheduler = scheduler.New(s) }

// Run serves until ctx ends, then drains: it takes no new work, tells those who wait, and returns when
// the last answer is written or drain_timeout has passed.
func (g *Gateway) Run(ctx context.Context) error {
	c := g.live.Load().config
	data, err := g.options.Listen(c.Server.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen at server.listen = %q: %w", c.Server.Listen, err)
	}
	defer data.Close()
	admin, err := g.options.Listen(c.Admin.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen at admin.listen = %q: %w", c.Admin.Listen, err)
	}
	defer admin.Close()
	g.logs.Info("config", zap.Int("version", g.live.Load().version), zap.String("hash", short(g.live.Load().config.Hash)), zap.Int("overrides", len(g.live.Load().overrides)), zap.Bool("changed", true), zap.Strings("restart_needed", nil))
	g.logs.Info("listening", zap.String("data", data.Addr().String()), zap.String("admin", admin.Addr().String()), zap.String("version", g.options.Version))
	if g.options.Started != nil {
		g.options.Started(data.Addr(), admin.Addr())
	}

	g.history.Store(openHistory(g.options.State, c.Limits.HistorySeries, g.logs))
	beside, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { g.detect(beside) })
	running.Go(func() { g.tend(beside) })
	running.Go(func() { g.takeCensuses(beside) })
	running.Go(func() { g.keepRegistrations(beside) })
	go g.audit.Run()
	go g.alerts.Run()
	if g.options.Path != "" {
		running.Go(func() { g.watch(beside) })
	}
	failed := make(chan error, 2)
	go func() { failed <- g.edge.serve(data) }()
	go func() { failed <- g.console.Serve(admin) }()
	g.warnOverPromise()

	select {
	case <-ctx.Done():
		err = nil
	case err = <-failed:
		if err == nil {
			err = errors.New("a listener was closed")
		}
		err = fmt.Errorf("cannot go on serving: %w", err)
	}
	g.drain()
	stop()
	running.Wait()
	g.windows.save(g)
	g.seasons.close(&g.watched.flows, g.logs)
	if g.store != nil {
		if flush := g.store.Flush(); flush != nil {
			g.logs.Error("state", zap.Error(flush))
		}
	}
	if r := g.recorder.Load(); r != nil {
		g.endRecording(r)
	}
	if shut := g.console.Shutdown(); shut != nil && err == nil {
		g.logs.Warn("shutdown", zap.Error(shut))
	}
	g.closeAlerts()
	g.history.Load().Close()
	g.closeTrail()
	for _, u := range g.live.Load().upstreams {
		u.Close()
	}
	g.sample.Close()
	return err
}

// drain ends the data plane: first ready says no while traffic still flows, then no new work is taken
// and those who wait are told, then what is in flight may end.
func (g *Gateway) drain() {
	c := g.live.Load().config.Server
	g.unready.Store(true)
	g.logs.Info("draining", zap.Int64("requests", g.active.Load()), zap.Stringer("drain_delay", c.DrainDelay), zap.Stringer("drain_timeout", c.DrainTimeout))
	if c.DrainDelay.Duration > 0 {
		time.Sleep(c.DrainDelay.Duration)
	}
	g.draining.Store(true)
	g.scheduler.Drain()
	ctx, cancel := context.WithTimeout(context.Background(), c.DrainTimeout.Duration)
	defer cancel()
	if err := g.edge.server.ShutdownWithContext(ctx); err != nil {
		g.logs.Warn("drained", zap.Int64("cut", g.active.Load()), zap.Error(err))
		return
	}
	g.logs.Info("drained", zap.Int64("cut", 0))
}

func (g *Gateway) ready() (bool, string) {
	if g.unready.Load() {
		return false, "shutting down"
	}
	return true, ""
}

// refuseEarly answers what never became a request: a header that could not be read.
func (g *Gateway) refuseEarly(ctx *fasthttp.RequestCtx, r *Refusal) {
	x := g.begin(ctx)
	x.idLen = copy(x.id[:], r.RequestID)
	x.code, x.outcome = r.Code, outcomeRefused
	x.refusal = *r
	r.RetryAfter = spread(addressSeed(x.client), r.RetryAfter)
	x.label(&ctx.Response.Header)
	writeRefusal(ctx, r)
	ctx.Response.Header.SetConnectionClose()
	x.left, x.finished = true, true
	x.end()
}

// quietLogger takes what the HTTP server says of clients that behave badly: each is counted already.
type quietLogger struct{}

func (quietLogger) Printf(string, ...any) {}
