package gateway

import (
	"testing"
	"time"

	"tidegate/gateway/console"
)

// A caller who asks and takes back without end does not fill the trail; the log has each time.
func TestACallerWhoAsksWithoutEndDoesNotFillTheTrail(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), registering, mirror)
		trail := 0
		w.g.auditRegistration = func(console.AuditEntry) { trail++ }
		time.Sleep(time.Duration(60-time.Now().Second()) * time.Second) // a minute begins
		for range 14 {
			w.put("bob", "export", someWords)
			w.desk("bob", "DELETE /.tidegate/v1/semantics/export")
		}
		if trail != deskTrail {
			t.Errorf("%d entries in a minute, want %d", trail, deskTrail)
		}
		if n := len(w.log.lines("registration")); n != 28 {
			t.Errorf("%d lines in the log, want 28", n)
		}
		time.Sleep(time.Minute)
		w.put("bob", "export", someWords)
		if trail != deskTrail+1 {
			t.Errorf("%d entries after the minute", trail)
		}
	})
}
