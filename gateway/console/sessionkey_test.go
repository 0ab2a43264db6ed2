package console

import (
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

// Who logs out a thousand times ends all sessions rather than that one of them came back.
func TestEndedSessionsAreRememberedWithinABound(t *testing.T) {
	s := newSessions("", nil)
	who := func(i int) visitor {
		return visitor{session: sessionID{byte(i), byte(i >> 8), 1}, until: t0.Add(time.Hour)}
	}
	key := string(s.sealingKey())
	for i := range maxEnded {
		s.end(who(i), t0)
	}
	if string(s.sealingKey()) != key || len(s.ended) != maxEnded || s.lasts(who(0), t0) {
		t.Errorf("%d are remembered", len(s.ended))
	}
	s.end(who(maxEnded), t0)
	if string(s.sealingKey()) == key || len(s.ended) != 1 {
		t.Errorf("%d are remembered, and the key is the same: %v", len(s.ended), string(s.sealingKey()) == key)
	}
	key = string(s.sealingKey())
	for i := range 3 * maxEnded { // those that are over make place
		s.end(who(i), t0.Add(time.Duration(i)*time.Hour))
	}
	if string(s.sealingKey()) != key {
		t.Error("sessions that are over take place")
	}
}

func TestADiskThatDoesNotAnswerHoldsNobodyWithASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions(t.TempDir(), zap.NewNop())
		s.sealingKey()
		answers, written := make(chan struct{}), 0
		s.replace = func(string, []byte, fs.FileMode) error { <-answers; written++; return nil }
		who := func(i byte) visitor { return visitor{session: sessionID{i}, until: time.Now().Add(time.Hour)} }
		ended := false
		go func() { s.end(who(0), time.Now()); ended = true }()
		synctest.Wait()
		if !s.mu.TryLock() {
			close(answers)
			t.Fatal("whoever has a session waits for the disk")
		}
		s.mu.Unlock()
		if s.sealingKey() == nil || !s.lasts(who(1), time.Now()) || s.lasts(who(0), time.Now()) {
			t.Error("what was logged out of lasts, or more than that has ended")
		}
		if ended {
			t.Error("a logout does not wait until it is kept")
		}
		close(answers)
		synctest.Wait()
		if !ended || written != 1 {
			t.Errorf("ended: %v, written %d times", ended, written)
		}
	})
}

func FuzzParseSessions(f *testing.F) {
	f.Add([]byte(`{"key":"` + strings.Repeat("00", 32) + `","ended":{"` + strings.Repeat("11", 16) + `":"2026-01-01T00:00:00Z"}}`))
	f.Add([]byte(`{"key":""}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		key, ended, err := parseSessions(text)
		if err == nil && (len(key) != keySize || ended == nil) {
			t.Errorf("%q is %d bytes of a key", text, len(key))
		}
	})
}
