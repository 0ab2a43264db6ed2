package gateway

import (
	"regexp"
	"strings"
	"testing"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestATraceGoesOnWithASpanOfThisHop(t *testing.T) {
	tr := newTrace([]byte(parent))
	got := string(tr.appendParent(nil))
	if !tr.inherited || got[:36] != parent[:36] || got[36:52] == parent[36:52] || got[52:] != "-01" || !validTraceparent([]byte(got)) {
		t.Errorf("%q of %q", got, parent)
	}
	tr = newTrace([]byte(strings.Replace(parent, "-01", "-fe", 1)))
	if got := string(tr.appendParent(nil)); !strings.HasSuffix(got, "-00") {
		t.Errorf("%q: unknown flags passed on, or not sampled became sampled", got)
	}
	// a version to come, with more fields
	tr = newTrace([]byte("cc" + parent[2:] + "-what-the-future-brings"))
	if got := string(tr.appendParent(nil)); !tr.inherited || got[:36] != parent[:36] {
		t.Errorf("%q", got)
	}
}

func TestAnInvalidParentStartsANewTrace(t *testing.T) {
	for _, p := range []string{
		"", "00", parent[:54], parent + "-", parent + "0", "ff" + parent[2:], "0g" + parent[2:], strings.ToUpper(parent),
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
		strings.Replace(parent, "-", "_", 1), parent[:53] + "0g", "cc" + parent[2:] + "x",
	} {
		tr := newTrace([]byte(p))
		got := string(tr.appendParent(nil))
		if tr.inherited || !validTraceparent([]byte(got)) || !strings.HasSuffix(got, "-00") {
			t.Errorf("%q: %q", p, got)
		}
	}
	a, b := newTrace(nil), newTrace(nil)
	if a.trace == b.trace || a.span == b.span {
		t.Error("two traces are one")
	}
}

func TestTracesAreMadeWithoutAllocation(t *testing.T) {
	in, out := []byte(parent), make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		tr := newTrace(in)
		out = tr.appendParent(out[:0])
		tr = newTrace(nil)
		out = tr.appendParent(out[:0])
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

var traceparentForm = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$`)

func FuzzTraceparent(f *testing.F) {
	f.Add(parent)
	f.Add("cc" + parent[2:] + "-x")
	f.Fuzz(func(t *testing.T, s string) {
		m := traceparentForm.FindStringSubmatch(s)
		want := m != nil && m[1] != "ff" && strings.Trim(m[2], "0") != "" && strings.Trim(m[3], "0") != "" && (m[1] != "00" || len(s) == traceparentLen)
		if strings.Contains(s, "\n") {
			return
		}
		if got := validTraceparent([]byte(s)); got != want {
			t.Fatalf("%q: %v, want %v", s, got, want)
		}
		tr := newTrace([]byte(s))
		if got := tr.appendParent(nil); !validTraceparent(got) {
			t.Fatalf("%q begets %q", s, got)
		}
	})
}

func TestRequestIDsAreShortSafeAndUnique(t *testing.T) {
	ids, others := newRequestIDs(), newRequestIDs()
	seen := map[string]bool{}
	for range 1000 {
		for _, r := range []*requestIDs{ids, others} {
			id := r.append(nil)
			if seen[string(id)] || len(id) > 26 || !acceptableRequestID(id) {
				t.Fatalf("id %q", id)
			}
			seen[string(id)] = true
		}
	}
	dst := make([]byte, 0, 32)
	if n := testing.AllocsPerRun(100, func() { dst = ids.append(dst[:0]) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestRequestIDsFromOutsideMustBeHarmless(t *testing.T) {
	for id, want := range map[string]bool{
		"": false, "a": true, "7f3c-AZ_:./+=@": true, strings.Repeat("x", 128): true, strings.Repeat("x", 129): false,
		"a b": false, "a\x00": false, "a\x7f": false, "ä": false, `a"b`: false, `a\b`: false, "<script>": false,
	} {
		if got := acceptableRequestID([]byte(id)); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
}
