package gateway

import (
	"context"
	"time"
)

// tend does, until ctx ends, what may have to wait for a disk: it ends overrides, writes the windows and the seasons, and
// flushes versions. It has a goroutine of its own, since the detector and what is observed must be looked at however slow
// a disk is.
func (g *Gateway) tend(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			g.keeping.busy.Store(now.UnixNano())
			g.endOverrides(now)
			g.windows.tick(g, now)
			g.seasons.tick(now, g.logs)
			g.flushVersions(now)
			g.lookAtState(now)
			g.keeping.busy.Store(0)
		}
	}
}
