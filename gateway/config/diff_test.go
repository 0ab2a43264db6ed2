package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestDiffTextShowsWhatChanged(t *testing.T) {
	until := t0.Add(time.Hour)
	vip := Override{Name: "callers.acme.pool", Value: "vip", Actor: "ann", Reason: "promotion\nruns wild", Made: t0}
	ended := vip
	ended.Until = &until
	for _, tc := range []struct {
		what             string
		old, new         string
		oldOver, newOver []Override
		want             string
	}{
		{"nothing", "a\n", "a\n", []Override{vip}, []Override{vip}, ""},
		{"a line", "a\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\nE\nf\n", nil, nil, "--- before\n+++ after\n@@ -2,5 +2,5 @@\n b\n c\n d\n-e\n+E\n f\n"},
		{"the end of the last line", "a", "a\n", nil, nil, "--- before\n+++ after\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"the kind of line ends", "a\n", "a\r\n", nil, nil, "--- before\n+++ after\n@@ -1,1 +1,1 @@\n-a\n+a\r\n"},
		{"all of it", "", "a\n", nil, nil, "--- before\n+++ after\n@@ -0,0 +1,1 @@\n+a\n"},
		{"an override more", "a", "a", nil, []Override{vip}, "+override callers.acme.pool = \"vip\", by ann: promotion runs wild\n"},
		{"an override less", "a", "a", []Override{vip}, nil, "-override callers.acme.pool = \"vip\", by ann: promotion runs wild\n"},
		{"an end", "a", "a", []Override{vip}, []Override{ended}, "-override callers.acme.pool = \"vip\", by ann: promotion runs wild\n" +
			"+override callers.acme.pool = \"vip\", by ann until 2026-03-01T13:00:00Z: promotion runs wild\n"},
		{"both", "a\n", "b\n", []Override{vip}, nil, "--- before\n+++ after\n@@ -1,1 +1,1 @@\n-a\n+b\n-override callers.acme.pool = \"vip\", by ann: promotion runs wild\n"},
	} {
		if got := DiffText(tc.old, tc.new, tc.oldOver, tc.newOver); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.what, got, tc.want)
		}
	}
}

// apply brings the new text out of the old one and the diff between them.
func apply(t *testing.T, old, diff string) string {
	t.Helper()
	lines, next := strings.SplitAfter(old, "\n"), 0
	var b strings.Builder
	for _, line := range strings.SplitAfter(diff, "\n") {
		if from := 0; strings.HasPrefix(line, "@@") {
			if _, err := fmt.Sscanf(line, "@@ -%d,", &from); err != nil {
				t.Fatal(err)
			}
			for ; next < from-1; next++ {
				b.WriteString(lines[next])
			}
			continue
		}
		switch {
		case line == "", strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
		case line[0] == '+':
			b.WriteString(line[1:])
		default:
			if line[1:] != lines[next] {
				t.Fatalf("line %d is %q, and %q in the diff", next+1, lines[next], line)
			}
			if line[0] == ' ' {
				b.WriteString(line[1:])
			}
			next++
		}
	}
	return b.String() + strings.Join(lines[next:], "")
}

// Nothing may be missing from a diff, however large the files.
func TestADiffOfLargeFilesIsComplete(t *testing.T) {
	old := manyCallers(2000)
	new := strings.NewReplacer("id = \"c17\"", "id = \"d17\"", "id = \"c1999\"\n", "", "[[pools]]\nname = \"vip\"", "[[pools]]\nname = \"vip\"\nseats = 9", "\"c5", "\"e5").Replace(old)
	if got := apply(t, old, DiffText(old, new, nil, nil)); got != new {
		t.Error("old and diff do not make the new one")
	}
}
