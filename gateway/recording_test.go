package gateway

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidegate/gateway/record"
)

// recorded is the trace in a directory, a line a request.
func recorded(t *testing.T, dir string) (lines []string) {
	t.Helper()
	r, err := record.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		tenant := "-"
		if e.Tenant != "" {
			tenant = "hashed"
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %d %s cost %d seat %v %s", e.Caller, e.Type, e.Route, e.Size, tenant, e.Cost, e.Seat, e.Outcome))
	}
	if flaws, n := r.Flaws(); n != 0 {
		t.Error(flaws)
	}
	return lines
}

func TestTheTraceHasWhatWasOfferedAndWhatBecameOfIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "trace")
		text := "[record]\ndir = " + fmt.Sprintf("%q", dir) + "\n" + basic
		w := newWorld(t, text, slowly(20*time.Millisecond))
		w.do("GET /v1/chat/x", "X-API-Key: ann")
		w.do("GET /v1/chat/x", "X-API-Key: shop", "X-Tenant-Id: t1")
		for range 4 {
			w.do("GET /v1/reports/x", "X-API-Key: ann")
		}
		w.do("GET /v1/chat/x", "X-API-Key: wrong")
		w.do("GET /nowhere", "X-API-Key: ann")
		if n := w.metric("tidegate_record_dropped_total"); n != 0 {
			t.Errorf("%v dropped", n)
		}
		w.reload(strings.ReplaceAll(basic, "[log]", "# without a trace\n[log]"))
		w.do("GET /v1/chat/x", "X-API-Key: ann") // is not in it
		want := []string{
			"ann chat chat 4 - cost 1 seat 20ms served",
			"shop chat chat 4 hashed cost 1 seat 20ms served",
			"ann export reports 4 - cost 1 seat 20ms served",
			"ann export reports 4 - cost 1 seat 20ms served",
			"ann export reports 4 - cost 1 seat 20ms served",
			"ann export reports 0 - cost 1 seat 0s refused:rate_exceeded",
			"  chat 0 - cost 0 seat 0s refused:caller_unknown",
			"  0 - cost 0 seat 0s refused:route_unknown",
		}
		got := recorded(t, dir)
		for i := range max(len(got), len(want)) {
			a, b := "", ""
			if i < len(got) {
				a = strings.Join(strings.Fields(got[i]), " ")
			}
			if i < len(want) {
				b = strings.Join(strings.Fields(want[i]), " ")
			}
			if a != b {
				t.Errorf("%q, want %q", a, b)
			}
		}
	})
}

func TestADirectoryThatCannotTakeATraceIsAFaultOfTheConfig(t *testing.T) {
	d := newDesk(t, basic)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := d.g.live.Load()
	_, err := d.control().Put(ops, d.etag(), []byte(hashed("[record]\ndir = "+fmt.Sprintf("%q", file)+"\n"+basic)))
	if err == nil || !strings.Contains(err.Error(), "record.dir") || d.g.live.Load() != before {
		t.Errorf("%v", err)
	}
	// One that is changed, and one that is not, go on.
	one, two := t.TempDir(), t.TempDir()
	for i, dir := range []string{one, one, two} {
		d.put(fmt.Sprintf("# %d\n[record]\ndir = %q\n%s", i, dir, basic))
		if d.g.recorder.Load() == nil {
			t.Fatal("nothing is recorded")
		}
	}
	if n, err := filepath.Glob(filepath.Join(two, "*")); err != nil || len(n) == 0 {
		t.Errorf("nothing is in the new directory: %v", err)
	}
	d.put(basic)
	if d.g.recorder.Load() != nil {
		t.Error("it goes on")
	}
}

func TestATraceGoesOnUnderAnotherNameOfItsDirectory(t *testing.T) {
	dir := t.TempDir()
	trace, link := filepath.Join(dir, "trace"), filepath.Join(dir, "link")
	d := newDesk(t, basic)
	to := func(name string) string { return fmt.Sprintf("[record]\ndir = %q\n", name) + basic }
	d.put(to(trace))
	if err := os.Symlink(trace, link); err != nil {
		t.Fatal(err)
	}
	before := d.g.recorder.Load()
	d.put(to(link))
	if now := d.g.recorder.Load(); now == nil || now != before {
		t.Error("another recorder records")
	}
	d.put(basic)
	if d.g.recorder.Load() != nil {
		t.Error("the trace has not ended")
	}
}
