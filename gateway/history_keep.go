package gateway

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"

	"tidegate/gateway/console"
	"tidegate/gateway/history"
)

// What was, for the page: each second's census goes into the history, which keeps it in state.dir.

// historyKinds are its kinds by their names in the API.
var historyKinds = map[string]history.Kind{"total": history.Total, "pool": history.Pool, "level": history.Level, "caller": history.Caller}

// openHistory takes in what earlier runs have kept. It waits for the disk for two seconds at most.
func (g *Gateway) openHistory() {
	o := history.Options{
		MaxSeries: g.started.Limits.HistorySeries,
		Failed: func(err error) {
			g.logs.Warn("history", zap.Error(err), zap.String("remedy", historyRemedy))
		},
	}
	if g.options.State != "" {
		o.Path = filepath.Join(g.options.State, "history.db")
	}
	g.history.Store(history.Open(o))
}

const historyRemedy = "make state.dir writable; until then the last 15 minutes are in memory alone"

// historyTrouble is the history's, as far as it is open.
func (g *Gateway) historyTrouble() (since time.Time, err error) {
	if h := g.history.Load(); h != nil {
		return h.Trouble()
	}
	return time.Time{}, nil
}

// rememberHistory takes one second in.
func (g *Gateway) rememberHistory(c *census) {
	h := g.history.Load()
	if h == nil {
		return
	}
	h.Add(c.at, func(yield func(history.Key, *history.Sample)) {
		s := &history.Sample{
			history.Rate: float32(c.totals.RequestsPerS), history.Admitted: float32(c.totals.AdmittedPerS), history.Refused: float32(c.totals.RefusedPerS),
			history.InFlight: float32(c.totals.InFlight), history.Waiting: float32(c.totals.Waiting),
		}
		yield(history.Key{Kind: history.Total}, s)
		for i := range c.pools {
			p := &c.pools[i]
			*s = history.Sample{
				history.Seats: float32(p.Seats), history.InUse: float32(p.InUse), history.Committed: float32(p.Committed), history.Excess: float32(p.Excess),
				history.Surge: float32(p.Surge), history.Lent: float32(p.Lent), history.Borrowed: float32(p.Borrowed), history.PoolWaiting: float32(p.Waiting),
			}
			yield(history.Key{Kind: history.Pool, Name: p.Name}, s)
		}
		for i := range c.levels {
			l := &c.levels[i]
			*s = history.Sample{history.LevelWaiting: float32(l.Waiting), history.OldestWait: float32(l.OldestWaitMS), history.Dispatched: float32(l.DispatchedPerS)}
			yield(history.Key{Kind: history.Level, Name: l.Pool, Part: l.Level}, s)
		}
		for i := range c.callers {
			c.rememberCaller(&c.callers[i], s, yield)
		}
	})
}

// rememberCaller adds a caller's flows up by semantic. Those that nothing comes of are left out: they are 0.
func (c *census) rememberCaller(of *callerCensus, s *history.Sample, yield func(history.Key, *history.Sample)) {
	flows := of.flows
	for i := range flows {
		semantic := flows[i].d.semantic
		first := true
		for j := range flows[:i] {
			first = first && flows[j].d.semantic != semantic
		}
		if !first {
			continue
		}
		*s = history.Sample{}
		any := false
		for j := i; j < len(flows); j++ {
			f := &flows[j]
			if f.d.semantic != semantic {
				continue
			}
			any = any || !f.still || f.arrived > 0 || f.inFlight > 0 || f.waiting > 0
			s[history.Rate] += float32(c.perSecond(f.arrived))
			s[history.Admitted] += float32(c.perSecond(f.admitted))
			s[history.Refused] += float32(c.perSecond(f.refused))
			s[history.InFlight] += float32(f.inFlight)
			s[history.Waiting] += float32(f.waiting)
			s[history.Expected] += float32(f.expected)
		}
		if any {
			yield(history.Key{Kind: history.Caller, Name: of.caller.ID, Part: semantic}, s)
		}
	}
}

// historyWait is how long an answer waits for what is on the disk.
const historyWait = 3 * time.Second

// historyView is how something was. Its error says what is wrong with the name.
func (g *Gateway) historyView(q console.HistoryQuery) (console.HistoryView, error) {
	v := console.HistoryView{Kind: q.Kind, Name: q.Name, StepMS: 1000, Fields: map[string]console.Series{}}
	key := history.Key{Kind: historyKinds[q.Kind], Name: q.Name}
	switch q.Kind {
	case "total":
		if q.Name != "" {
			return v, errors.New("total has no name: leave it out")
		}
	case "level", "caller":
		key.Name, key.Part, _ = strings.Cut(q.Name, "/")
		if q.Kind == "level" && key.Part == "" {
			return v, fmt.Errorf("a level is named POOL/LEVEL, as in shared/realtime; %q is not", q.Name)
		}
	}
	if q.Kind != "total" && key.Name == "" {
		return v, fmt.Errorf("name is needed: whose %s it is", q.Kind)
	}
	until := q.Until
	if until.IsZero() {
		until = time.Now()
	}
	values, ok := history.Values{}, false
	if h := g.history.Load(); h != nil {
		ctx, cancel := context.WithTimeout(context.Background(), historyWait)
		defer cancel()
		values, ok = h.Read(ctx, key, until, q.Span)
	}
	if !ok {
		if !g.has(key) {
			return v, fmt.Errorf("there is no %s %q, and nothing is remembered of one", q.Kind, q.Name)
		}
		v.From = until
		for _, name := range history.Fields(key.Kind) {
			v.Fields[name] = console.Series{}
		}
		return v, nil
	}
	v.From, v.StepMS = values.From, values.Step.Milliseconds()
	for i, name := range history.Fields(key.Kind) {
		v.Fields[name] = console.Series(values.Fields[i])
	}
	return v, nil
}

// has says whether the configuration has what a series would be of.
func (g *Gateway) has(k history.Key) bool {
	p := g.live.Load().policy
	switch k.Kind {
	case history.Pool, history.Level:
		for _, pool := range p.Pools() {
			if pool.Name != k.Name {
				continue
			}
			if k.Kind == history.Pool {
				return true
			}
			for _, level := range p.Levels() {
				if level.Name == k.Part {
					return true
				}
			}
		}
		return false
	case history.Caller:
		return p.Caller(k.Name) != nil && (k.Part == "" || p.Semantic(k.Part) != nil)
	}
	return true
}
