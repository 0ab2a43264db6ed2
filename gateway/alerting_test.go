package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/console"
)

// hook is a webhook in virtual time, and what it was told.
type hook struct {
	mu   sync.Mutex
	told []map[string]any // the member data of each
	fail bool
	hang bool
}

func (h *hook) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	var p struct{ Data map[string]any }
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.told = append(h.told, p.Data)
	fail, hang := h.fail, h.hang
	h.mu.Unlock()
	if hang {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	status := http.StatusOK
	if fail {
		status = http.StatusNotFound
	}
	return &http.Response{StatusCode: status, Body: http.NoBody}, nil
}

// all is what was told, in few words.
func (h *hook) all() (said []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.told {
		line := fmt.Sprint(d["kind"], " ", d["subject"])
		if d["resolved"] == true {
			line += " over"
		}
		said = append(said, line)
	}
	return said
}

// last is the newest of a kind.
func (h *hook) last(kind string) map[string]any {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range slices.Backward(h.told) {
		if d["kind"] == kind {
			return d
		}
	}
	return nil
}

func (h *hook) wants(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := h.all(); !slices.Equal(got, want) {
		t.Errorf("told %q\nwant %q", got, want)
	}
}

const secretPath = "T0PS3CRET"

// telling is a config with a webhook.
func telling(text string) string {
	return "[alerts]\nwebhook = \"https://hooks.example.com/" + secretPath + "\"\nrepeat = \"1m\"\n" + text
}

// newTelling starts a gateway that tells a hook.
func newTelling(t *testing.T, state, text string, upstream fasthttp.RequestHandler) (*world, *hook) {
	t.Helper()
	h := &hook{}
	return startWorld(t, "", state, telling(text), upstream, func(o *Options) { o.Webhook = h }), h
}

// take reads a text as the watcher of the file would.
func (w *world) take(text string) { w.g.take([]byte(hashed(text)), nil) }

func TestABurstIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, h := newTelling(t, "", strings.Replace(roomy, "trusted_proxies = [\"10.0.0.1\"]", "", 1), slowly(50*time.Millisecond))
		var answers sync.WaitGroup
		w.pace(&answers, 5, 60*time.Second, "GET /reports/x", "X-API-Key: ann")
		h.wants(t)
		w.pace(&answers, 60, 20*time.Second, "GET /reports/x", "X-API-Key: ann")
		h.wants(t, "surge ann/export")
		d := h.last("surge")
		facts, _ := d["facts"].(map[string]any)
		if !strings.HasPrefix(d["text"].(string), "Caller ann has burst with export: ") || facts["rate"].(float64) < 10 || facts["caller"] != "ann" {
			t.Errorf("%v", d)
		}
		w.pace(&answers, 5, 60*time.Second, "GET /reports/x", "X-API-Key: ann")
		h.wants(t, "surge ann/export", "surge ann/export over")
		answers.Wait()
		if n := w.metric(`tidegate_alerts_total{result="sent"}`); n != 2 {
			t.Errorf("%v counted", n)
		}
		if v := w.g.alertsView(); !v.Webhook || len(v.Alerts) != 2 || v.Alerts[1].Status != "sent" || v.Alerts[1].Kind != "surge" {
			t.Errorf("%+v", v)
		}
		if strings.Contains(w.log.String(), secretPath) {
			t.Error("the log has the address of the webhook")
		}
	})
}

// Paid work waits for a seat for nearly as long as it may.
func TestStarvationIsToldOnlyWhenItLasts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := changed(t, basic, `max_wait = "2s"`, `max_wait = "30s"`, `timeout = "10s"`, `timeout = "10m"`)
		free := make(chan struct{}, 10)
		w, h := newTelling(t, "", text, func(ctx *fasthttp.RequestCtx) { <-free })
		var answers sync.WaitGroup
		ask := func() { answers.Go(func() { w.do("GET /v1/chat/x", "X-API-Key: ann") }) }
		for range 3 { // two seats
			ask()
			time.Sleep(time.Millisecond)
		}
		time.Sleep(24 * time.Second) // 0.8 of 30 s
		h.wants(t)
		time.Sleep(3 * time.Second)
		h.wants(t)
		free <- struct{}{} // in time
		time.Sleep(20 * time.Second)
		h.wants(t)
		ask()
		time.Sleep(29 * time.Second)
		h.wants(t, "starvation shared/realtime")
		d := h.last("starvation")
		facts, _ := d["facts"].(map[string]any)
		if facts["max_wait_ms"] != 30_000.0 || facts["waited_ms"].(float64) < 24_000 || facts["seats"] != 2.0 || !strings.Contains(d["text"].(string), "Waiting: ann 1.") {
			t.Errorf("%v", d)
		}
		for range 3 {
			free <- struct{}{}
		}
		time.Sleep(10 * time.Second)
		h.wants(t, "starvation shared/realtime", "starvation shared/realtime over")
		answers.Wait()
	})
}

func TestARefusedCallerOfAnImportantPoolIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := changed(t, basic, `rate = "100/s"`, "rate = \"3/s\"\nover_rate = \"reject\"")
		w, h := newTelling(t, "", text, slowly(10*time.Millisecond))
		for range 10 {
			w.do("GET /v1/chat/x", "X-API-Key: ann") // of the first pool
			w.do("GET /nowhere", "X-API-Key: vip")   // his own doing
		}
		// One seat, and he does not want to wait for it.
		refused := 0
		for _, a := range w.gather(3, "GET /v1/chat/x", "X-API-Key: vip", "X-Max-Wait: 0s") {
			if a.status == 429 {
				refused++
			}
		}
		if refused != 2 {
			t.Fatalf("%d were refused", refused)
		}
		time.Sleep(2 * time.Second)
		h.wants(t)
		for range 5 {
			w.do("GET /v1/chat/x", "X-API-Key: vip")
		}
		time.Sleep(2 * time.Second)
		h.wants(t, "vip_refused vip")
		d := h.last("vip_refused")
		facts, _ := d["facts"].(map[string]any)
		if facts["refused"] != 2.0 || fmt.Sprint(facts["codes"]) != "map[rate_exceeded:2]" || facts["pool"] != "vip" {
			t.Errorf("%v", d)
		}
		time.Sleep(vipCalmAfter)
		h.wants(t, "vip_refused vip", "vip_refused vip over")

		w.reload(strings.Replace(telling(text), "repeat =", "important_pools = [\"shared\"]\nrepeat =", 1))
		for range 5 {
			w.do("GET /v1/chat/x", "X-API-Key: vip")
			w.do("GET /v1/chat/x", "X-API-Key: bob")
		}
		time.Sleep(2 * time.Second)
		h.wants(t, "vip_refused vip", "vip_refused vip over", "vip_refused bob")
	})
}

func TestAFailedReloadIsToldUntilOneHolds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, h := newTelling(t, "", basic, mirror)
		bad := changed(t, basic, "seats = 2", "seats = -2", `max_wait = "2s"`, `max_wait = "soon"`)
		w.take(telling(bad))
		w.take(telling(bad))
		h.wants(t, "reload_failed config")
		if text := h.last("reload_failed")["text"].(string); !strings.Contains(text, "version 1 stays in force: :16:1: pools.shared.seats: seats are") || !strings.Contains(text, "(and 1 problems more)") {
			t.Error(text)
		}
		w.take(telling(withSeats(t, 5)))
		h.wants(t, "reload_failed config", "reload_failed config over")
	})
}

func TestATargetThatTakesNoConnectionsIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, h := newTelling(t, "", basic, func(ctx *fasthttp.RequestCtx) { ctx.SetConnectionClose() })
		w.refused.Store(true)
		w.do("GET /v1/chat/x", "X-API-Key: ann")
		time.Sleep(time.Second)
		w.refused.Store(false)
		w.do("GET /v1/chat/x", "X-API-Key: ann")
		time.Sleep(5 * time.Second)
		h.wants(t) // one connection is no outage
		w.refused.Store(true)
		w.do("GET /v1/chat/x", "X-API-Key: ann")
		time.Sleep(5 * time.Second)
		h.wants(t, "upstream_down api http://api")
		w.refused.Store(false)
		w.do("GET /v1/chat/x", "X-API-Key: ann")
		time.Sleep(2 * time.Second)
		h.wants(t, "upstream_down api http://api", "upstream_down api http://api over")
	})
}

// A disk that takes nothing stops nothing: it is said, and what was decided meanwhile is kept when it is back.
func TestABrokenDiskIsSaidAndNothingIsLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		w, h := newTelling(t, dir, changed(t, basic, `rate = "100/s"`, `rate = "100/10m"`), mirror)
		time.Sleep(10 * time.Second)
		if n := w.metric(`tidegate_state_failing{what="versions"}`); n != 0 || len(w.g.snapshot().Troubles) != 0 {
			t.Fatalf("%v, %+v", n, w.g.snapshot().Troubles)
		}
		if err := os.Rename(dir, dir+".away"); err != nil {
			t.Fatal(err)
		}
		w.do("GET /v1/chat/x", "X-API-Key: ann")
		time.Sleep(10 * time.Second)
		for i := range 3 {
			w.take(telling(withSeats(t, 5+i)))
		}
		time.Sleep(3 * time.Second)
		var what []string
		for _, v := range w.snapshot().Troubles {
			what = append(what, v.What)
			if v.Error == "" || v.Remedy == "" || time.Since(v.Since) > time.Minute || v.Since.IsZero() {
				t.Errorf("%+v", v)
			}
			if n := w.metric(`tidegate_state_failing{what="` + v.What + `"}`); n != 1 {
				t.Errorf("%s: %v", v.What, n)
			}
		}
		if !slices.Contains(what, "versions") || !slices.Contains(what, "windows") || !slices.Contains(what, "audit") {
			t.Errorf("in trouble are %v", what)
		}
		if a := w.do("GET /v1/chat/x", "X-API-Key: ann"); a.status != 200 {
			t.Errorf("%d", a.status)
		}
		if d := h.last("state_failed"); d == nil || w.metric("tidegate_audit_pending") != 3 {
			t.Errorf("%v, %v pending", h.all(), w.metric("tidegate_audit_pending"))
		}
		if lines := w.log.lines("trouble"); len(lines) != len(what) {
			t.Errorf("%d lines", len(lines))
		}
		if err := os.Rename(dir+".away", dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if v := w.snapshot().Troubles; len(v) != 0 {
			t.Errorf("%+v", v)
		}
		kept := w.g.store.Versions()
		if len(kept) != 4 || kept[0].Number != 4 || kept[2].Number != 2 {
			t.Errorf("%d versions are kept", len(kept))
		}
		if w.metric("tidegate_audit_pending") != 0 || w.metric(`tidegate_state_failing{what="versions"}`) != 0 {
			t.Error("it is still in trouble")
		}
		began, over := 0, 0
		for _, said := range h.all() {
			if strings.HasSuffix(said, " over") {
				over++
			} else {
				began++
			}
		}
		if began != len(what) || over != began {
			t.Errorf("told %v", h.all())
		}
	})
}

func TestADiskThatDoesNotAnswerIsTrouble(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, _ := newTelling(t, t.TempDir(), basic, mirror)
		w.g.loading.Lock() // as a load would that waits for the disk
		w.g.keeping.busy.Store(time.Now().UnixNano())
		if _, err := w.g.keeping.Trouble(); err != nil {
			t.Error(err)
		}
		time.Sleep(500 * time.Millisecond)
		w.g.keeping.busy.Store(time.Now().Add(-2 * busyFor).UnixNano())
		if since, err := w.g.keeping.Trouble(); err == nil || time.Since(since) != 2*busyFor {
			t.Errorf("%v since %v", err, since)
		}
		w.g.loading.Unlock()
		time.Sleep(2 * time.Second)
		if _, err := w.g.keeping.Trouble(); err != nil {
			t.Error(err)
		}
	})
}

func TestTheTestButtonTellsWhatCameOfIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, h := newTelling(t, "", basic, mirror)
		v, err := w.g.testAlert(ops)
		if err != nil || v.Status != "sent" || v.Kind != "test" {
			t.Errorf("%+v, %v", v, err)
		}
		h.wants(t, "test ops")
		code := func(want string) {
			t.Helper()
			_, err := w.g.testAlert(ops)
			var failure *console.Failure
			if !errors.As(err, &failure) || failure.Code != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
		code(console.CodeAlertBusy)
		h.fail = true
		time.Sleep(10 * time.Second)
		if v, err := w.g.testAlert(ops); err != nil || v.Status != "failed" || v.Error != "answered 404" {
			t.Errorf("%+v, %v", v, err)
		}
		w.reload(basic)
		code(console.CodeNoWebhook)
		var said []string
		for _, e := range w.g.auditEntries(console.AuditQuery{Action: actionAlertTest, Limit: 10}) {
			said = append(said, e.Actor+" "+e.Outcome+" "+e.Subject+e.Code)
		}
		if got := strings.Join(said, "; "); got != "ops refused no_webhook; ops done failed; ops refused alert_busy; ops done sent" {
			t.Error(got)
		}
		if v := w.g.alertsView(); v.Webhook || len(v.Alerts) != 2 {
			t.Errorf("%+v", v)
		}
	})
}

// A webhook that never answers holds up neither requests nor the end.
func TestAWebhookThatHangsHoldsNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, h := newTelling(t, "", basic, mirror)
		h.hang = true
		w.take("nonsense")
		began := time.Now()
		for range 20 {
			if a := w.do("GET /v1/chat/x", "X-API-Key: ann"); a.status != 200 {
				t.Errorf("%d", a.status)
			}
		}
		if time.Since(began) > time.Second {
			t.Errorf("20 requests took %v", time.Since(began))
		}
		time.Sleep(time.Second)
		began = time.Now()
		w.stop()
		w.ended <- <-w.ended
		if took := time.Since(began); took < alertTimeout || took > alertTimeout+time.Second {
			t.Errorf("the end took %v", took)
		}
		if lines := w.log.lines("alert"); len(lines) != 1 || !strings.Contains(lines[0], `"not_sent":1`) {
			t.Errorf("the log has %q", lines)
		}
	})
}

func TestASecretThatOthersCanReadIsWarnedOf(t *testing.T) {
	d := newDesk(t, basic)
	secret := filepath.Join(filepath.Dir(d.path), "hook.secret")
	text := "[alerts]\nwebhook = \"https://hooks.example.com/" + secretPath + "\"\nsecret_file = \"hook.secret\"\n" + basic
	noted := func(want string) {
		t.Helper()
		if done := d.put(fmt.Sprintf("# %s\n%s", want, text)); want == "" && len(done.Notes) > 0 || want != "" && !strings.Contains(strings.Join(done.Notes, "\n"), want) {
			t.Errorf("notes %q, want %q", done.Notes, want)
		}
	}
	noted("cannot read the secret")
	if err := os.WriteFile(secret, []byte("whatever"), 0o644); err != nil {
		t.Fatal(err)
	}
	noted("chmod 600")
	if err := os.Chmod(secret, 0o600); err != nil {
		t.Fatal(err)
	}
	noted("")
	for _, text := range []string{d.log.String(), fmt.Sprint(d.g.auditEntries(console.AuditQuery{Limit: 100}))} {
		if strings.Contains(text, secretPath) || strings.Contains(text, "whatever") {
			t.Error("the log or the trail has a secret")
		}
	}
}
