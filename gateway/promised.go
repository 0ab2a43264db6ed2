package gateway

import (
	"time"

	"go.uber.org/zap"
)

const warnAtMost = 10 * time.Second

// warnOverPromise says when what the rates promise does not fit a pool's seats: then the promise can be
// broken though nobody does anything wrong. It needs seat times, so it is said again as they are learned.
func (g *Gateway) warnOverPromise() {
	// A configuration that changes ten times a second is no reason to say it ten times.
	now := time.Now()
	if last := g.warned.Load(); last != 0 && now.Sub(time.Unix(0, last)) < warnAtMost {
		return
	}
	g.warned.Store(now.UnixNano())
	seatTimes := g.scheduler.Stats(0).SeatTimes
	for _, p := range g.live.Load().policy.Promised(func(semantic int32) time.Duration { return seatTimes[semantic] }) {
		if p.Needed > float64(p.Seats) {
			g.logs.Warn("promised", zap.String("pool", p.Pool), zap.Int("seats", p.Seats), zap.Float64("needed", round(p.Needed)),
				zap.String("remedy", "the sum of rate x seat time exceeds the pool: raise seats, lower rates, or give the largest callers a pool of their own"))
		}
	}
}
