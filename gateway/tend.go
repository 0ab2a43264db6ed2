package gateway

import (
	"context"
	"time"
)

// tend does, until ctx ends, what may have to wait for a disk: it ends overrides and writes the windows. It has
// a goroutine of its own, since the detector and what is observed must be looked at however slow a disk is.
func (g *Gateway) tend(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			g.endOverrides(now)
			g.windows.tick(g, now)
		}
	}
}
