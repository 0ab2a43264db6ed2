package gateway

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tidegate/gateway/config"
	"tidegate/gateway/console"
	"tidegate/gateway/policy"
	"tidegate/gateway/recent"
	"tidegate/gateway/replay"
)

// A change is tried on what came in the last minutes: who would be refused, who would wait, and nobody where nothing changes.
func TestAPreviewSaysWhoWouldBeRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), basic, mirror)
		preview := func(text string) (*console.PreviewView, error) { return w.g.previewConfig([]byte(hashed(text))) }
		_, err := preview(basic)
		var failure *console.Failure
		if !errors.As(err, &failure) || failure.Code != console.CodeNothingToPlay {
			t.Errorf("with nothing to play: %v", err)
		}
		for range 40 { // exports, 2 a second of the 3 that they may be
			w.do("GET /v1/reports/x", "X-API-Key: ann")
			w.do("GET /v1/chat/x", "X-API-Key: bob")
			time.Sleep(500 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		same, err := preview(basic)
		if err != nil || !same.OK || len(same.Rows) != 0 || same.Requests != 80 || same.Same != 2 {
			t.Fatalf("nothing changes: %+v, %v", same, err)
		}
		slower, err := preview(changed(t, basic, `rate = "3/s", over_rate`, `rate = "1/s", over_rate`))
		if err != nil || len(slower.Rows) != 1 {
			t.Fatalf("%+v, %v", slower, err)
		}
		row := slower.Rows[0]
		if row.Caller != "ann" || row.Semantic != "export" || row.Before.Offered != 40 || row.Before.Refused > 8 || row.After.Refused < 20 || row.After.Passed+row.After.Refused != 40 {
			t.Errorf("%+v", row)
		}
		if slower.Requests != 80 || slower.To.Sub(slower.From) < 15*time.Second || !strings.Contains(slower.Diff, `+rules = [ { semantic = "export", rate = "1/s"`) {
			t.Errorf("%d from %v to %v: %s", slower.Requests, slower.From, slower.To, slower.Diff)
		}
		// What operators have set stands above the text, as it would.
		c := control{w.g}
		if _, err := c.SetOverride(ops, config.Override{Name: "flows.ann/export.rate", Value: "100/s"}); err != nil {
			t.Fatal(err)
		}
		if v, err := preview(changed(t, basic, `rate = "3/s", over_rate`, `rate = "1/s", over_rate`)); err != nil || len(v.Rows) != 0 {
			t.Errorf("with an override above it: %+v, %v", v, err)
		}
		// And a fault is told where it is, without anything being played.
		bad, err := preview(changed(t, basic, "seats = 2", `seats = "many"`))
		if err != nil || bad.OK || len(bad.Problems) != 1 || bad.Problems[0].Line == 0 || bad.Requests != 0 {
			t.Errorf("%+v, %v", bad, err)
		}
		w.g.previewing.Lock()
		_, err = preview(basic)
		w.g.previewing.Unlock()
		if !errors.As(err, &failure) || failure.Code != console.CodePreviewBusy {
			t.Errorf("while another is played: %v", err)
		}
		if v := w.g.live.Load().version; v != 2 {
			t.Errorf("version %d is in force after looking", v)
		}
	})
}

// Who is not among the callers any more is refused, and that is said; whoever is new has nothing to be played.
func TestAPreviewRefusesWhoIsNoCallerAnyMore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), basic, mirror)
		for range 10 {
			w.do("GET /v1/chat/x", "X-API-Key: ann")
			w.do("GET /v1/chat/x", "X-API-Key: bob")
			time.Sleep(500 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		v, err := w.g.previewConfig([]byte(hashed(changed(t, basic, `id = "bob"`, `id = "carol"`))))
		if err != nil || len(v.Rows) != 1 {
			t.Fatalf("%+v, %v", v, err)
		}
		if r := v.Rows[0]; r.Caller != "bob" || r.Before.Passed != 10 || r.After.Refused != 10 || r.After.Passed != 0 {
			t.Errorf("%+v", r)
		}
		if notes := strings.Join(v.Notes, "\n"); !strings.Contains(notes, "refused as unknown: bob.") {
			t.Errorf("%s", notes)
		}
	})
}

// Where no rule named the route of what came, none is played that names it: nothing changes where nothing is changed.
func TestAPreviewPlaysTheRulesThatWereMet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// The first route that accepts exports, reports, is one by which none of these came.
		text := changed(t, basic, `rules = [ { semantic = "export", rate = "3/s", over_rate = "reject", message = "Exports are three a second." } ]`,
			`rules = [ { route = "reports", semantic = "export", rate = "1/60s", over_rate = "reject" } ]`)
		w := newWorldIn(t, t.TempDir(), text, mirror)
		for range 20 {
			if a := w.do("GET /v1/mixed/x", "X-API-Key: ann", "X-Semantic: export"); a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			time.Sleep(200 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		preview := func(text string) *console.PreviewView {
			v, err := w.g.previewConfig([]byte(hashed(text)))
			if err != nil || !v.OK {
				t.Fatalf("%+v, %v", v, err)
			}
			return v
		}
		v := preview(changed(t, text, "seats = 2", "seats = 3"))
		if len(v.Rows) != 0 || v.Same != 1 || v.Pools[0].SeatsBefore != 2 || v.Pools[0].SeatsAfter != 3 {
			t.Errorf("%+v", v)
		}
		// A rule that names the route now is met, and how that is known is said.
		v = preview(changed(t, text, `rules = [ {`, `rules = [ { route = "mixed", rate = "1/60s", over_rate = "reject" }, {`))
		if len(v.Rows) != 1 || v.Rows[0].Before.Refused != 0 || v.Rows[0].After.Refused != 19 {
			t.Errorf("%+v", v.Rows)
		}
		if notes := strings.Join(v.Notes, "\n"); !strings.Contains(notes, "names the route mixed now") {
			t.Errorf("%s", notes)
		}
		// The route is gone: it is played by another, and that is said.
		v = preview(changed(t, text, "name = \"mixed\"", "name = \"both\""))
		if notes := strings.Join(v.Notes, "\n"); !strings.Contains(notes, "by the name of mixed") {
			t.Errorf("%s", notes)
		}
	})
}

// What callers registered themselves counts, as long as their plan lets them.
func TestAPreviewKnowsWhatCallersRegistered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), registering, mirror)
		w.put("ann", "export", someWords)
		for range 10 {
			w.do("GET /v1/mixed/x", "X-API-Key: ann", "X-Semantic: export")
			time.Sleep(500 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		v, err := w.g.previewConfig([]byte(hashed(registering)))
		if err != nil || len(v.Rows) != 0 || v.Same != 1 {
			t.Errorf("%+v, %v", v, err)
		}
		v, err = w.g.previewConfig([]byte(hashed(changed(t, registering, `registration = "auto"`, `registration = "off"`))))
		if err != nil || len(v.Rows) != 2 {
			t.Fatalf("%+v, %v", v, err)
		}
		for _, r := range v.Rows {
			if r.Semantic == "export" && (r.Before.Offered != 10 || r.After.Offered != 0) || r.Semantic == "default" && (r.Before.Offered != 0 || r.After.Offered != 10) {
				t.Errorf("%+v", r)
			}
		}
	})
}

// The bounds of a preview: the newest two million requests, and it says so. Whatever it costs, others have the core.
func TestAPreviewOfTooMuchPlaysTheNewest(t *testing.T) {
	var l recent.Log
	start := time.Unix(1_770_000_000, 0)
	for s := range 30 {
		l.Add(start.Add(time.Duration(s)*time.Second), time.Second, func(yield func(recent.Flow, int, time.Duration)) {
			yield(recent.Flow{Caller: "ann", Semantic: "chat"}, 1000, 5*time.Millisecond)
		})
	}
	c := configOf(t, basic)
	p, err := policy.Compile(c, &policy.Names{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	e, err := replay.NewEngine(c, replay.Play{Live: true})
	if err != nil {
		t.Fatal(err)
	}
	past := l.Past(10_500)
	player := newPlayer(past, p, e)
	player.play()
	from, to := past.Bounds()
	if player.played != 10_000 || !past.Cut() || to.Sub(from) != 10*time.Second || e.Report(0).Requests != 10_000 {
		t.Errorf("%d from %v to %v", player.played, from, to)
	}
	if notes := strings.Join(previewNotes(player, c, c), "\n"); !strings.Contains(notes, "what came in 10s") || !strings.Contains(notes, "the oldest seconds are left out") {
		t.Errorf("%s", notes)
	}
}
