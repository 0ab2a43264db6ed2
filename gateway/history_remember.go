package gateway

import (
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"tidegate/gateway/history"
)

// What is remembered of each second, and told by the API. Without state.dir it is remembered in memory only.

const historyRemedy = "make room in state.dir and let it be written; until then the last week is remembered in memory only, and as far as it fits there"

// openHistory takes up what the last run has kept.
func openHistory(dir string, series int, log *logs) *history.History {
	o := history.Options{
		MaxSeries: historySeries(series),
		Failed: func(err error) {
			log.Error("history", zap.Error(err), zap.String("remedy", historyRemedy))
		},
	}
	if dir != "" {
		o.Path = filepath.Join(dir, "history.db")
	}
	return history.Open(o)
}

// historySeries is limits.history_series as the history has it, to which 0 is any number.
func historySeries(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// historyTrouble is why the history does not get onto the disk; nil: it does.
func (g *Gateway) historyTrouble() (since time.Time, err error) {
	h := g.history.Load()
	if h == nil {
		return time.Time{}, nil
	}
	return h.Trouble()
}

// rememberHistory remembers a census. The first one counts nothing yet.
func (g *Gateway) rememberHistory(c *census) {
	h := g.history.Load()
	if h == nil || c.span <= 0 {
		return
	}
	h.Limit(historySeries(c.live.config.Limits.HistorySeries))
	h.Add(c.at, func(yield func(history.Key, *history.Sample)) {
		var s history.Sample
		s[history.Rate], s[history.Admitted], s[history.Refused] = c.rate(c.arrived), c.rate(c.admitted), c.rate(c.refused)
		s[history.InFlight], s[history.Waiting] = float32(c.totals.InFlight), float32(c.totals.Waiting)
		yield(history.Key{Kind: history.Total}, &s)
		for i := range c.pools {
			p := &c.pools[i]
			s = history.Sample{
				history.Seats: float32(p.Seats), history.InUse: float32(p.InUse),
				history.Committed: float32(p.Committed), history.Excess: float32(p.Excess), history.Surge: float32(p.Surge),
				history.Lent: float32(p.Lent), history.Borrowed: float32(p.Borrowed), history.PoolWaiting: float32(p.Waiting),
			}
			yield(history.Key{Kind: history.Pool, Name: p.Name}, &s)
		}
		for i := range c.levels {
			l := &c.levels[i]
			s = history.Sample{
				history.LevelWaiting: float32(l.Waiting), history.OldestWait: float32(l.OldestWaitMS), history.Dispatched: float32(l.DispatchedPerS),
			}
			yield(history.Key{Kind: history.Level, Name: l.Pool, Part: l.Level}, &s)
		}
		var uses []semanticSample
		for i := range c.callers {
			of := &c.callers[i]
			uses = c.bySemantic(uses[:0], of.flows)
			for u := range uses {
				yield(history.Key{Kind: history.Caller, Name: of.caller.ID, Part: uses[u].semantic}, &uses[u].sample)
			}
		}
	})
}

// semanticSample is a caller's second in one semantic.
type semanticSample struct {
	semantic string
	sample   history.Sample
}

// bySemantic adds up a caller's flows by their semantics, of which there are few.
func (c *census) bySemantic(uses []semanticSample, flows []flowCensus) []semanticSample {
	for i := range flows {
		f := &flows[i]
		u := 0
		for u < len(uses) && uses[u].semantic != f.d.semantic {
			u++
		}
		if u == len(uses) {
			uses = append(uses, semanticSample{semantic: f.d.semantic})
		}
		s := &uses[u].sample
		s[history.Rate] += c.rate(f.arrived)
		s[history.Admitted] += c.rate(f.admitted)
		s[history.Refused] += c.rate(f.refused)
		s[history.InFlight] += float32(f.inFlight)
		s[history.Waiting] += float32(f.waiting)
		s[history.Expected] += float32(f.expected)
	}
	return uses
}

func (c *census) rate(n uint64) float32 { return float32(c.perSecond(n)) }
