package replay

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestOnlyTheEventsThatWereAskedForAreWritten(t *testing.T) {
	for only, want := range map[string]string{
		"":                   "dispatched queued refused",
		"refused":            "refused",
		"queued, dispatched": "dispatched queued",
		"surge,calm":         "",
	} {
		var b bytes.Buffer
		log, err := NewLog(&b, only)
		if err != nil {
			t.Fatal(err)
		}
		s := newPlay(t, strings.Replace(platform, `max_wait = "10s"`, `max_wait = "30ms"`, 1), Play{Log: log})
		for range 20 {
			s.offer(0, "acme", "chat")
		}
		s.engine.Finish()
		if err := log.Flush(); err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, kind := range []string{"dispatched", "queued", "refused", "surge", "calm"} {
			if strings.Contains(b.String(), `"event":"`+kind+`"`) {
				found = append(found, kind)
			}
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%q: got %q, want %q", only, got, want)
		}
	}
	if _, err := NewLog(nil, "surge,cool"); err == nil || !strings.Contains(err.Error(), "surge, calm, refused, queued, dispatched") {
		t.Errorf("an unknown kind: %v", err)
	}
}

func TestNamesAreWrittenAsJSON(t *testing.T) {
	s := newPlay(t, platform, Play{})
	s.offer(-0.0005, "a\"\\\n\x01ü", "chat")
	got := s.finished("dispatched")
	if len(got) != 1 || got[0].Caller != "a\"\\\n\x01ü" || got[0].T != 0 {
		t.Errorf("%+v of %s", got, s.events.String())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestThatEventsCannotBeWrittenIsToldAtTheEnd(t *testing.T) {
	log, err := NewLog(full{}, "")
	if err != nil {
		t.Fatal(err)
	}
	s := newPlay(t, platform, Play{Log: log})
	for i := range 3000 {
		s.offer(float64(i), "acme", "chat")
	}
	s.engine.Finish()
	if err := log.Flush(); err == nil || !strings.Contains(err.Error(), "cannot write the events") {
		t.Errorf("got %v", err)
	}
}
