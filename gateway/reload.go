package gateway

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"

	"tidegate/gateway/config"
)

// watch follows the config file until ctx ends: a change is taken by itself, and at SIGHUP. A
// configuration that cannot be used changes nothing and is shown.
func (g *Gateway) watch(ctx context.Context) {
	w := config.NewWatcher(g.options.Path, g.live.Load().config.Hash)
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hup:
				w.Reload()
			}
		}
	}()
	w.Run(ctx, g.take)
}

// take brings the content of a config file into force, or says why not.
func (g *Gateway) take(data []byte, err error) {
	if err == nil {
		var c *config.Config
		if c, err = config.LoadBytes(g.options.Path, data, g.options.Environ); err == nil {
			err = g.reload(c)
		}
	}
	if err != nil {
		g.rejected(err)
	}
}

// reload takes a configuration that was read. The one that is in force already changes nothing, but
// that a faulty one before it is forgotten; the log says so, for whoever has corrected it or sent SIGHUP.
func (g *Gateway) reload(c *config.Config) error {
	g.loading.Lock()
	defer g.loading.Unlock()
	g.options.fit(c)
	same := c.Hash == g.live.Load().config.Hash // the environment is that of the start
	if !same {
		if err := g.load(c); err != nil {
			return err
		}
	}
	g.telemetry.loaded(true, time.Now())
	restart := needRestart(g.started, c)
	note := ""
	if len(restart) > 0 {
		note = "taken, but a restart is needed for: " + strings.Join(restart, ", ")
	}
	g.loadError.Store(note)
	g.logs.Info("config", zap.Int("version", g.live.Load().version), zap.String("hash", short(c.Hash)), zap.Bool("changed", !same), zap.Strings("restart_needed", restart))
	if !same {
		g.warnOverPromise()
	}
	return nil
}

// rejected records a configuration that was not taken: the one before stays in force.
func (g *Gateway) rejected(err error) {
	g.loadError.Store(err.Error())
	g.telemetry.loaded(false, time.Now())
	var problems config.Problems
	if !errors.As(err, &problems) {
		g.logs.Error("config", zap.Error(err), zap.Int("running_version", g.live.Load().version))
		return
	}
	for i, p := range problems {
		if i == 20 {
			g.logs.Error("config", zap.Int("more_problems", len(problems)-i))
			break
		}
		g.logs.Error("config", zap.String("problem", p.String()), zap.Int("running_version", g.live.Load().version))
	}
}

// needRestart lists what a reload cannot bring into force, since the start.
func needRestart(old, next *config.Config) []string {
	var keys []string
	for _, k := range []struct {
		key     string
		changed bool
	}{
		{"server.listen", old.Server.Listen != next.Server.Listen},
		{"server.max_header_bytes", old.Server.MaxHeaderBytes != next.Server.MaxHeaderBytes},
		{"server.max_connections", old.Server.MaxConnections < next.Server.MaxConnections},
		{"admin.listen", old.Admin.Listen != next.Admin.Listen},
		{"log.format", old.Log.Format != next.Log.Format},
		{"state.dir", old.State.Dir != next.State.Dir},
	} {
		if k.changed {
			keys = append(keys, k.key)
		}
	}
	return keys
}

func short(hash string) string { return hash[:min(len(hash), 12)] }
