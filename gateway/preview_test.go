package gateway

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tidegate/gateway/config"
	"tidegate/gateway/console"
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
