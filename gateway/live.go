package gateway

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"tidegate/detector"
	"tidegate/gateway/config"
	"tidegate/gateway/policy"
	"tidegate/gateway/upstream"
	"tidegate/gateway/watch"
)

// live is everything of one configuration that a request needs, swapped by one pointer. It is
// immutable; upstreams are state and live on from one to the next.
type live struct {
	config    *config.Config
	policy    *policy.Policy
	upstreams map[string]*upstream.Upstream
	behind    []*upstream.Upstream // by the index of the route
	places    *places
	proxies   *trustedProxies
	body      *bodyLimits
	detector  *detector.Config // nil: off
	zone      *time.Location

	observe   bool // server.mode: nothing is held back
	recording recording

	text      []byte            // of the config file
	overrides []config.Override // above it, in the order in which they were made
	aside     []config.Aside    // those of them that do not fit the file
	origin    change            // that brought it into force; for who and why
	version   int
	loadedAt  time.Time
}

// fit holds a configuration to what the process has room for.
func (o *Options) fit(c *config.Config) {
	if o.MaxConnections > 0 {
		c.Server.MaxConnections = min(c.Server.MaxConnections, o.MaxConnections)
	}
}

// prepare makes of a configuration all that a request needs. It may fail, and changes nothing.
func (g *Gateway) prepare(c *config.Config, version int) (*live, error) {
	p, err := policy.Compile(c, &g.names, uint64(version))
	if err != nil {
		return nil, err
	}
	next := &live{config: c, policy: p, version: version, loadedAt: time.Now(), observe: c.Server.Mode == "observe", upstreams: make(map[string]*upstream.Upstream)}
	var problems []error
	if next.places, err = newPlaces(&c.Identify); err != nil {
		problems = append(problems, err)
	}
	if next.proxies, err = parseTrustedProxies(c.Server.TrustedProxies); err != nil {
		problems = append(problems, err)
	}
	if next.zone, err = c.Time.Location(); err != nil {
		problems = append(problems, err)
	}
	for _, u := range c.Upstreams {
		// A trial: targets are made without connecting to them.
		trial, err := upstream.New(u, upstream.Options{Sample: g.sample})
		if err != nil {
			problems = append(problems, err)
			continue
		}
		trial.Close()
	}
	if len(problems) == 0 {
		if next.recording, err = g.prepareRecording(c, g.live.Load()); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	next.body = &bodyLimits{
		max: int64(c.Server.MaxBodyBytes), buffer: int64(c.Server.BodyBuffer), timeout: c.Server.BodyTimeout.Duration,
		minRate: int64(c.Server.MinBodyRate), memory: g.bodies,
	}
	if next.detector = watch.Config(&c.Detector); next.detector != nil {
		next.detector.Zone = next.zone
	}
	return next, nil
}

// commit makes a prepared configuration the one in force. It cannot fail.
func (g *Gateway) commit(next *live) {
	c := next.config
	old := g.live.Load()
	setup := next.policy.Setup()
	seats := 0
	for _, p := range setup.Pools {
		seats += p.Seats
	}
	for _, u := range c.Upstreams {
		next.upstreams[u.Name] = g.upstream(old, u, &c.Server, seats)
	}
	for _, r := range next.policy.Routes() {
		for int(r.Index) >= len(next.behind) {
			next.behind = append(next.behind, nil)
		}
		next.behind[r.Index] = next.upstreams[r.Upstream]
	}
	if g.scheduler == nil {
		g.start(setup)
	} else {
		g.scheduler.Apply(setup)
	}
	g.beginRecording(&next.recording, old)
	g.bodies.max.Store(int64(c.Server.MaxBodyMemory))
	g.addresses.apply(c.Server.RatePerIP)
	g.refusals.resize(c.Limits.RefusalsKept)
	g.telemetry.limitCallers(c.Metrics.MaxCallers)
	g.access.apply(c.Log)
	if err := g.logs.setLevel(c.Log.Level); err != nil {
		g.logs.Error("config", zap.Error(err)) // the level was checked when the file was read
	}
	if g.edge != nil {
		g.edge.apply(&c.Server)
	}
	if g.console != nil {
		g.console.Update(c.Admin.Tokens)
	}
	g.desk.registrations.Apply(termsOf(next.policy))
	g.live.Store(next)
	if old != nil {
		for name, u := range old.upstreams {
			if next.upstreams[name] == nil {
				u.Close()
			}
		}
	}
}

// upstream is the one of that name with its new settings, or a new one.
func (g *Gateway) upstream(old *live, c config.Upstream, server *config.Server, seats int) *upstream.Upstream {
	series := g.telemetry.upstream(c.Name)
	o := upstream.Options{
		AnswerBuffer: int(server.AnswerBuffer), WriteStall: server.WriteStallTimeout.Duration,
		BodyStall: server.BodyTimeout.Duration, Seats: seats, // the least rate of a body is held where it is read
		Sample: g.sample, Dial: g.options.Dial,
		Failed: func(_ string, reason upstream.Reason) { series.failed(reason.String()) },
	}
	var err error
	if old != nil && old.upstreams[c.Name] != nil {
		u := old.upstreams[c.Name]
		if err = u.Update(c, o); err == nil {
			return u
		}
	} else if u, made := upstream.New(c, o); made == nil {
		return u
	} else {
		err = made
	}
	panic(fmt.Sprintf("gateway: upstream settings that were tried cannot be used: %v", err))
}

// offPeak is when it is quiet, as the configuration says: the span that is on, or that begins next.
func (l *live) offPeak() *config.OffPeak {
	spans := l.config.Queue.OffPeak
	if len(spans) == 0 {
		return nil
	}
	const day = 24 * 60
	now := time.Now().In(l.zone)
	minute := now.Hour()*60 + now.Minute()
	best, wait := 0, day
	for i, s := range spans {
		length := (s.To - s.From + day) % day
		if (minute-s.From+day)%day < length {
			return &spans[i]
		}
		if w := (s.From - minute + day) % day; w < wait {
			best, wait = i, w
		}
	}
	return &spans[best]
}
