package config

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"
)

// DiffText says what differs between two configurations: a unified diff of the files' text, then a line for
// each override that is gone (-) or new (+). It is empty when nothing differs. Hashes of keys stay as they are.
func DiffText(old, new string, oldOverrides, newOverrides []Override) string {
	var b strings.Builder
	text := diff.Diff("before", []byte(old), "after", []byte(new))
	if _, hunks, ok := bytes.Cut(text, []byte("\n")); ok { // the first line names a command
		b.Write(hunks)
	}
	before, after := linesOf(oldOverrides), linesOf(newOverrides)
	for _, side := range []struct {
		sign        string
		here, there []string
	}{{"-", before, after}, {"+", after, before}} {
		has := make(map[string]bool, len(side.there))
		for _, line := range side.there {
			has[line] = true
		}
		for _, line := range side.here {
			if !has[line] {
				b.WriteString(side.sign + line + "\n")
			}
		}
	}
	return b.String()
}

// linesOf writes each override as one line of a diff.
func linesOf(overrides []Override) []string {
	lines := make([]string, len(overrides))
	for i, o := range overrides {
		lines[i] = fmt.Sprintf("override %s = %s, by %s", clip(o.Name), show(o.Value), clip(o.Actor))
		if o.Until != nil {
			lines[i] += " until " + o.Until.UTC().Format(time.RFC3339)
		}
		if o.Reason != "" {
			lines[i] += ": " + strings.Join(strings.Fields(o.Reason), " ")
		}
	}
	return lines
}
