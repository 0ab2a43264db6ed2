package gateway

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// keepRegistrations brings to the disk, until ctx ends, what a broken disk has not taken yet, and once more at the end.
func (g *Gateway) keepRegistrations(ctx context.Context) {
	if !g.desk.registrations.Keeps() {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			g.desk.registrations.KeepLast(keepFor)
			return
		case <-tick.C:
			g.desk.registrations.Keep(keepFor)
		}
	}
}

// saidOfRegistrations says once that keeping them fails, and once that it works again.
func (g *Gateway) saidOfRegistrations(err error) {
	if err == nil {
		g.logs.Info("registrations", zap.String("kept", "again"))
		return
	}
	g.logs.Error("registrations", zap.Error(err), zap.String("remedy", "make state.dir writable, and room on its disk; until then what is registered and decided stands, and a restart would forget it"))
}

func (g *Gateway) sayDamaged(odd []error) {
	const most = 20
	for i, err := range odd {
		if i == most {
			g.logs.Error("registrations", zap.Int("more", len(odd)-most))
			return
		}
		g.logs.Error("registrations", zap.Error(err))
	}
}
