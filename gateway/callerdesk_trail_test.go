package gateway

import (
	"testing"
	"time"

	"tidegate/gateway/console"
)

// A caller who asks and takes back all day does not push what owners did out of the trail; the log has each time.
func TestACallerWhoAsksWithoutEndDoesNotFillTheTrail(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), registering, mirror)
		of := map[string]int64{}
		w.g.auditRegistration = func(e console.AuditEntry) { of[e.Actor]++ }
		n := int(3 * deskEntries.N)
		for range n {
			expectAnswer(t, "asking", w.put("bob", "export", someWords), 202, "")
			time.Sleep(3 * time.Second) // within the rate of changes
		}
		if got := of["caller:bob"]; got != deskEntries.N {
			t.Errorf("%d entries of his in three minutes, want %d", got, deskEntries.N)
		}
		if lines := len(w.log.lines("registration")); lines != n {
			t.Errorf("%d lines in the log, want %d", lines, n)
		}
		w.decides("bob", "export", true)
		if of["olga"] != 1 {
			t.Errorf("what an owner decides is not in the trail: %v", of)
		}
		time.Sleep(deskEntries.Per)
		w.put("bob", "export", someWords)
		if got := of["caller:bob"]; got != deskEntries.N+1 {
			t.Errorf("%d entries after an hour", got)
		}
	})
}

func TestCallersTogetherDoNotFillTheTrail(t *testing.T) {
	var d callerDesk
	d.entries.limit, d.all.limit = deskEntries, deskAllEntries
	now, n := time.Now(), int64(0)
	for caller := range int32(1000) {
		if d.entry(now, caller) {
			n++
		}
	}
	if n != deskAllEntries.N {
		t.Errorf("%d entries of a thousand callers, want %d", n, deskAllEntries.N)
	}
}
