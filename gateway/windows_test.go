package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// afterRestart starts another gateway on the same state, as if the first one had been down for a while.
func (w *world) afterRestart(text string, down time.Duration) *world {
	w.t.Helper()
	w.stop()
	if err := <-w.ended; err != nil {
		w.t.Error(err)
	}
	w.ended <- nil // for the cleanup
	time.Sleep(down)
	return newWorldIn(w.t, w.state, text, mirror)
}

func TestALongWindowOutlivesARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := changed(t, basic, `rate = "100/s"`, `rate = "100/10m"`+"\nover_rate = \"reject\"")
		w := newWorldIn(t, t.TempDir(), text, mirror)
		for range 90 {
			w.do("GET /v1/chat/x", "X-API-Key: ann")
		}
		w.do("GET /v1/chat/x", "X-API-Key: shop", "X-Tenant-Id: t1")
		w = w.afterRestart(text, time.Second)
		if n := w.do("GET /v1/chat/x", "X-API-Key: ann").left(); n != 9 {
			t.Errorf("%d left after the 91st, want 9", n)
		}
		if n := w.do("GET /v1/chat/x", "X-API-Key: shop", "X-Tenant-Id: t1").left(); n != 98 {
			t.Errorf("%d left to the tenant, want 98", n)
		}
		if n := w.do("GET /v1/chat/x", "X-API-Key: bob").left(); n != 99 {
			t.Errorf("%d left to who had sent nothing", n)
		}

		// Twice, without ann sending anything in between; and time passes while nothing runs.
		w = w.afterRestart(text, time.Second)
		w = w.afterRestart(text, 9*time.Minute+50*time.Second)
		if n := w.do("GET /v1/chat/x", "X-API-Key: ann").left(); n < 8 || n > 10 {
			t.Errorf("%d left before the window is over, want 8", n)
		}
		w = w.afterRestart(text, 11*time.Minute)
		if n := w.do("GET /v1/chat/x", "X-API-Key: ann").left(); n != 99 {
			t.Errorf("%d left after the window, want 99", n)
		}
	})
}

func TestACrashForgetsOnlyTheLastSecondsOfAWindow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := changed(t, basic, `rate = "100/s"`, `rate = "100/10m"`)
		w := newWorldIn(t, t.TempDir(), text, mirror)
		for range 60 {
			w.do("GET /v1/chat/x", "X-API-Key: ann")
		}
		time.Sleep(windowsEvery + 2*time.Second)
		for range 5 {
			w.do("GET /v1/chat/x", "X-API-Key: ann")
		}
		synctest.Wait()
		kept, err := os.ReadFile(windowsIn(w.state))
		if err != nil {
			t.Fatal(err)
		}
		other := t.TempDir() // what a crash would have left
		if err := os.WriteFile(windowsIn(other), kept, 0o600); err != nil {
			t.Fatal(err)
		}
		v := newWorldIn(t, other, text, mirror)
		if n := v.do("GET /v1/chat/x", "X-API-Key: ann").left(); n != 39 {
			t.Errorf("%d left, want 39", n)
		}
	})
}

func TestADamagedFileOfWindowsIsSaidAndPassedOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(windowsIn(dir), []byte("\x1f\x8b nonsense"), 0o600); err != nil {
			t.Fatal(err)
		}
		text := changed(t, basic, `rate = "100/s"`, `rate = "100/10m"`)
		w := newWorldIn(t, dir, text, mirror)
		if a := w.do("GET /v1/chat/x", "X-API-Key: ann"); a.status != 200 {
			t.Errorf("%d", a.status)
		}
		if lines := w.log.lines("windows"); len(lines) != 1 || !strings.Contains(lines[0], "cannot read the windows") {
			t.Errorf("the log says %v", lines)
		}
		w = w.afterRestart(text, 0)
		if n := w.do("GET /v1/chat/x", "X-API-Key: ann").left(); n != 98 {
			t.Errorf("%d left, want 98: the next file is good", n)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*.new")); err != nil || len(left) > 0 {
			t.Errorf("left over: %v %v", left, err)
		}
	})
}

func TestWindowsThatCannotBeWrittenLeaveNothingBehind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(windowsIn(dir), "in the way"), 0o700); err != nil {
			t.Fatal(err)
		}
		w := newWorldIn(t, dir, changed(t, basic, `rate = "100/s"`, `rate = "100/10m"`), mirror)
		w.do("GET /v1/chat/x", "X-API-Key: ann")
		time.Sleep(3 * windowsEvery)
		synctest.Wait()
		said := 0
		for _, line := range w.log.lines("windows") {
			if strings.Contains(line, "cannot keep the windows") {
				said++
			}
		}
		if said != 1 {
			t.Errorf("the failure is said %d times, want once", said)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*.new")); err != nil || len(left) > 0 {
			t.Errorf("left over: %v %v", left, err)
		}
	})
}
