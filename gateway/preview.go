package gateway

import (
	"errors"

	"tidegate/gateway/config"
	"tidegate/gateway/console"
	"tidegate/gateway/policy"
	"tidegate/gateway/replay"
	"tidegate/gateway/upstream"
)

// checkConfig says what a text would be as the config file. It changes nothing.
func (g *Gateway) checkConfig(text []byte) console.CheckView {
	v, _ := g.proposed(g.live.Load(), text)
	return v
}

// proposed checks a text against what is in force; the configuration is nil where it has faults.
func (g *Gateway) proposed(l *live, text []byte) (v console.CheckView, c *config.Config) {
	c, asides, err := config.LoadWith(g.options.Path, text, g.options.Environ, l.overrides)
	if err == nil {
		g.options.fit(c)
		err = g.tryOut(c)
	}
	if err != nil {
		v.Problems = g.problemsOf(err, nil)
		return v, nil
	}
	v.OK, v.Diff = true, config.DiffText(string(l.text), string(text), nil, nil)
	v.RestartNeeded = needRestart(g.started, c)
	for _, a := range asides {
		v.Asides = append(v.Asides, console.OverrideView{Override: a.Override, Aside: a.Why})
	}
	return v, c
}

// tryOut is what prepare would find fault with, without anything that stays.
func (g *Gateway) tryOut(c *config.Config) error {
	_, err := policy.Compile(c, &policy.Names{}, 1)
	var problems []error
	for _, try := range []func() error{
		func() error { return err },
		func() error { _, err := newPlaces(&c.Identify); return err },
		func() error { _, err := parseTrustedProxies(c.Server.TrustedProxies); return err },
		func() error { _, err := c.Time.Location(); return err },
	} {
		if err := try(); err != nil {
			problems = append(problems, err)
		}
	}
	for _, u := range c.Upstreams {
		trial, err := upstream.New(u, upstream.Options{Sample: g.sample})
		if err != nil {
			problems = append(problems, err)
			continue
		}
		trial.Close()
	}
	return errors.Join(problems...)
}

// previewConfig plays what came in the last minutes under the configuration in force and under a text. It changes nothing.
func (g *Gateway) previewConfig(text []byte) (*console.PreviewView, error) {
	if !g.previewing.TryLock() {
		return nil, &console.Failure{Code: console.CodePreviewBusy, Detail: "a preview is being played already; try again when it is over, which takes seconds"}
	}
	defer g.previewing.Unlock()
	l, v := g.live.Load(), &console.PreviewView{}
	var next *config.Config
	if v.CheckView, next = g.proposed(l, text); next == nil {
		return v, nil
	}
	past := g.recent.Past(mostPlayed)
	if past.Requests() == 0 {
		return nil, &console.Failure{Code: console.CodeNothingToPlay, Detail: "no traffic is known of the last 15 minutes, so there is nothing to try the configuration on; the check says whether it is sound"}
	}
	before, err := replay.NewEngine(l.config, replay.Play{Live: true, Registered: g.registeredUnder(l, l.config)})
	if err != nil {
		return nil, cannotPlay(err)
	}
	after, err := replay.NewEngine(next, replay.Play{Live: true, Registered: g.registeredUnder(l, next)})
	if err != nil {
		return nil, cannotPlay(err)
	}
	p := newPlayer(past, l.policy, before, after)
	p.play()
	v.From, v.To = past.Bounds()
	v.Requests = int64(p.played)
	fillPreview(v, replay.Compare(before, after, 0))
	previewPools(v, before.Report(0).Pools, after.Report(0).Pools)
	v.Notes = previewNotes(p, l.config, next)
	return v, nil
}

func cannotPlay(err error) error {
	return &console.Failure{Code: console.CodeConfigInvalid, Detail: "the traffic cannot be played under this configuration: " + err.Error()}
}

// registeredUnder is what callers have registered at run time, as far as a configuration lets it count: a plan may not let
// its callers register any more.
func (g *Gateway) registeredUnder(l *live, c *config.Config) func(caller, semantic string) bool {
	if g.registry == nil {
		return nil
	}
	off, plan := map[string]bool{}, map[string]string{}
	for i := range c.Plans {
		off[c.Plans[i].Name] = c.Plans[i].Registration == "off"
	}
	for i := range c.Callers {
		plan[c.Callers[i].ID] = c.Callers[i].Plan
	}
	return func(caller, semantic string) bool {
		from, s := l.policy.Caller(caller), l.policy.Semantic(semantic)
		return from != nil && s != nil && !off[plan[caller]] && g.registry.Has(from.Index, s.Index)
	}
}

// mostRows is how many rows a preview tells of.
const mostRows = 100

func fillPreview(v *console.PreviewView, d *replay.Diff) {
	v.Same = d.Unchanged
	for i := range d.Changes {
		if len(v.Rows) == mostRows {
			break
		}
		c := &d.Changes[i]
		v.Rows = append(v.Rows, console.PreviewRow{Caller: c.Caller, Semantic: c.Semantic, Before: previewOutcome(c.Before), After: previewOutcome(c.After)})
	}
}

// previewPools are the pools of either, those of the new configuration first.
func previewPools(v *console.PreviewView, before, after []replay.Pool) {
	was := make(map[string]replay.Pool, len(before))
	for _, p := range before {
		was[p.Name] = p
	}
	for _, p := range after {
		b := was[p.Name]
		delete(was, p.Name)
		v.Pools = append(v.Pools, console.PreviewPool{Name: p.Name, SeatsBefore: b.Seats, PeakBefore: b.PeakInUse, SeatsAfter: p.Seats, PeakAfter: p.PeakInUse})
	}
	for _, p := range before {
		if _, gone := was[p.Name]; gone {
			v.Pools = append(v.Pools, console.PreviewPool{Name: p.Name, SeatsBefore: p.Seats, PeakBefore: p.PeakInUse})
		}
	}
}

func previewOutcome(r *replay.Row) console.PreviewOutcome {
	if r == nil {
		return console.PreviewOutcome{}
	}
	return console.PreviewOutcome{Offered: r.Offered, Passed: r.AtOnce, Waited: r.Waited, Refused: r.Refused, WaitP99MS: r.P99}
}
