package gateway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"

	"tidegate/gateway/alert"
	"tidegate/gateway/audit"
	"tidegate/gateway/config"
	"tidegate/gateway/console"
	"tidegate/scheduler"
)

// What needs a person is said to the alerts here. Each condition is looked at where it is known for nothing: surges when the
// detector says so, loads when they fail, and all else once a second.

// alerting is the alerts and what is known of their conditions.
type alerting struct {
	*alert.Alerts
	vips vipRefusals

	// The detecting goroutine's own.
	bursts   map[string]int // flows that surge, by subject: those of several routes and tenants are one
	starving map[queueName]*spell
	down     map[string]*spell // by upstream and target
}

func (g *Gateway) newAlerting() *alerting {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &alerting{
		Alerts: alert.New(alert.Options{
			From: alert.Source{Host: host, Version: g.options.Version}, Ended: g.alertEnded, Transport: g.options.Webhook,
		}),
		bursts: map[string]int{}, starving: map[queueName]*spell{}, down: map[string]*spell{},
	}
}

// alertEnded counts and logs what has become of an alert.
func (g *Gateway) alertEnded(v alert.View) {
	g.telemetry.alerted(v.Status)
	fields := []zap.Field{
		zap.String("id", v.ID), zap.String("kind", v.Kind), zap.String("subject", v.Subject), zap.Bool("resolved", v.Resolved), zap.String("text", v.Text),
		zap.String("status", v.Status), zap.Int("attempts", v.Attempts),
	}
	if v.Status == alert.StatusFailed {
		g.logs.Error("alert", append(fields, zap.String("error", v.Error))...)
		return
	}
	g.logs.Info("alert", fields...)
}

// applyAlerts takes the settings of a configuration, and says what is wrong with them; empty: nothing.
func (g *Gateway) applyAlerts(c *config.Config) (note string) {
	a := &c.Alerts
	g.alerts.vips.apply(c)
	err := g.alerts.Apply(alert.Settings{
		URL: a.Webhook, SecretFile: c.AlertSecretFile(), Kinds: a.Events, Repeat: a.Repeat.Duration, Timeout: a.Timeout.Duration,
	})
	if err != nil {
		g.logs.Error("alert", zap.Error(err), zap.String("remedy", "let the gateway read alerts.secret_file, and reload"))
		return err.Error()
	}
	if a.Webhook == "" || a.SecretFile == "" {
		return ""
	}
	if info, err := os.Stat(c.AlertSecretFile()); err == nil && info.Mode().Perm()&0o077 != 0 {
		note = fmt.Sprintf("alerts.secret_file has mode %04o: others on this machine can read it; chmod 600", info.Mode().Perm())
		g.logs.Warn("alert", zap.String("problem", note))
	}
	return note
}

// burst is told of the begin and of the end of each surge.
func (a *alerting) burst(now time.Time, e *surgeEvent, began bool) {
	subject := e.Caller + "/" + e.Semantic
	if began {
		a.bursts[subject]++
		a.Begin(now, alert.Event{
			Kind: alert.Surge, Subject: subject,
			Text: fmt.Sprintf("Caller %s has burst with %s: %.4g requests/s, where %.4g are expected. Its work beyond its rate comes last.", e.Caller, e.Semantic, round(e.Observed), round(e.Expected)),
			Facts: map[string]any{
				"caller": e.Caller, "semantic": e.Semantic, "rate": round(e.Observed), "expected": round(e.Expected), "ratio": round(e.Ratio),
				"score": round(e.Score), "needed": round(e.Needed), "season": e.Slot.String(), "waiting": e.Waiting,
			},
		})
		return
	}
	if a.bursts[subject]--; a.bursts[subject] > 0 {
		return
	}
	delete(a.bursts, subject)
	a.End(now, alert.Event{
		Kind: alert.Surge, Subject: subject,
		Text:  fmt.Sprintf("The burst of caller %s with %s is over after %v; it came to %.4g requests/s.", e.Caller, e.Semantic, e.Lasted.Round(time.Second), e.Peak),
		Facts: map[string]any{"caller": e.Caller, "semantic": e.Semantic, "lasted_s": round(e.Lasted.Seconds()), "peak": round(e.Peak)},
	})
}

// lookForAlerts looks at what may have begun or ended. It is called about once a second, and waits for nothing.
func (g *Gateway) lookForAlerts(now time.Time, st *scheduler.Stats) {
	l := g.live.Load()
	g.alerts.starvation(now, st, l.config.Alerts.WaitShare, g.whoseQueue)
	g.alerts.targets(now, l.targets())
	g.alerts.refusedVIPs(now)
	g.recordTrouble.look(now, g.recorder.Load())
	g.lookAtTroubles(now)
	g.alerts.Tick(now)
}

// reloadFailed says that the config file as it is now is not in force.
func (g *Gateway) reloadFailed(now time.Time, err error) {
	g.alerts.Begin(now, alert.Event{
		Kind: alert.ReloadFailed, Subject: "config", Text: "The config file cannot be used, and version " + fmt.Sprint(g.live.Load().version) + " stays in force: " + wordProblem(err),
		Facts: map[string]any{"version": g.live.Load().version},
	})
}

// wordProblem is the first thing that is wrong, without the values of keys: one of them may be a secret.
func wordProblem(err error) string {
	var problems config.Problems
	if !errors.As(err, &problems) || len(problems) == 0 {
		return withoutSecrets(err.Error())
	}
	p := problems[0]
	p.Value = ""
	text := withoutSecrets(p.String())
	if more := len(problems) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d problems more)", more)
	}
	return text
}

// reloadHeld says that it is.
func (g *Gateway) reloadHeld(now time.Time, version int) {
	g.alerts.End(now, alert.Event{
		Kind: alert.ReloadFailed, Subject: "config", Text: fmt.Sprintf("The config file is in force as version %d.", version), Facts: map[string]any{"version": version},
	})
}

// alertsView is what was told of late.
func (g *Gateway) alertsView() console.AlertsView {
	webhook, views := g.alerts.Recent()
	v := console.AlertsView{Webhook: webhook, Alerts: make([]console.AlertView, len(views))}
	for i := range views {
		v.Alerts[i] = console.AlertView(views[i])
	}
	return v
}

// testAlert tries the webhook.
func (g *Gateway) testAlert(by console.Change) (console.AlertView, error) {
	v, err := g.alerts.Test(time.Now(), by.Actor)
	switch {
	case errors.Is(err, alert.ErrNoWebhook):
		err = &console.Failure{Code: console.CodeNoWebhook, Detail: "alerts.webhook is not set; set it to the address that alerts are to be sent to"}
	case err != nil:
		err = &console.Failure{Code: console.CodeAlertBusy, Detail: err.Error() + "; wait some seconds"}
	}
	if err != nil {
		g.auditRefused(by, actionAlertTest, "", err)
		return console.AlertView{}, err
	}
	e := entryOf(by, actionAlertTest, v.Status)
	e.Outcome = audit.Done
	g.audited(e)
	return console.AlertView(v), nil
}

// alertTimeout is how long the end waits for the webhook.
const alertTimeout = 2 * time.Second

func (g *Gateway) closeAlerts() {
	ctx, cancel := context.WithTimeout(context.Background(), alertTimeout)
	defer cancel()
	if n := g.alerts.Close(ctx); n > 0 {
		g.logs.Error("alert", zap.Int("not_sent", n), zap.String("remedy", "the webhook did not take them before the gateway ended"))
	}
}
