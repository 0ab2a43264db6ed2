package console

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tidegate/gateway/config"
)

// files is a Control that keeps everything in memory. A text that has "fault" in it is no config.
type files struct {
	mu        sync.Mutex
	kept      []config.Version // oldest first
	overrides []OverrideView
	fails     error  // what every change comes to
	last      Change // that was asked for
	ifMatch   string // that came with it
	set       config.Override
}

var t0 = time.Date(2026, 11, 2, 9, 30, 0, 0, time.UTC)

const firstText = "[[callers]]\nid = \"acme\"\nkeys = [\"sha256:5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8\"]\n"

func newFiles() *files {
	f := &files{}
	f.keep("start", Change{}, firstText, "")
	return f
}

func hashOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16] }

func tagOf(v config.Version) string { return fmt.Sprintf(`"%d-%s"`, v.Number, v.Hash) }

func (f *files) keep(source string, c Change, text, diff string) {
	n := len(f.kept) + 1
	f.kept = append(f.kept, config.Version{
		Number: n, Time: t0.Add(time.Duration(n) * time.Minute), Actor: c.Actor, From: c.From, Reason: c.Reason,
		Source: source, Hash: hashOf(text), Diff: diff, Text: text,
	})
}

func (f *files) current() config.Version { return f.kept[len(f.kept)-1] }

func (f *files) changed(did bool) *Changed {
	v := f.current()
	return &Changed{Version: v.Number, Hash: v.Hash, ETag: tagOf(v), Changed: did}
}

func (f *files) Text() ([]byte, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return []byte(f.current().Text), tagOf(f.current())
}

func (f *files) Version(n int) (config.Version, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > len(f.kept) {
		return config.Version{}, "", &Failure{Code: CodeVersionUnknown, Detail: fmt.Sprintf("Version %d is not kept.", n)}
	}
	return f.kept[n-1], tagOf(f.kept[n-1]), nil
}

func (f *files) Versions() []config.Version {
	f.mu.Lock()
	defer f.mu.Unlock()
	newest := slices.Clone(f.kept)
	slices.Reverse(newest)
	return newest
}

// asked notes a change, and says what stands against it.
func (f *files) asked(c Change, ifMatch string) error {
	f.last, f.ifMatch = c, ifMatch
	if f.fails == nil && ifMatch != "" && !MatchTag(ifMatch, tagOf(f.current())) {
		return &Failure{Code: CodePrecondition, Detail: "Version " + fmt.Sprint(f.current().Number) + " is in force.", ETag: tagOf(f.current())}
	}
	return f.fails
}

func (f *files) Put(c Change, ifMatch string, text []byte) (*Changed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.asked(c, ifMatch); err != nil {
		return nil, err
	}
	if strings.Contains(string(text), "fault") {
		return nil, &Failure{Code: CodeConfigInvalid, Detail: "The config has 1 fault.", Problems: []config.Problem{{
			File: "config.toml", Line: 7, Column: 3, Key: "pools[0].seats", Name: "pools.shared.seats", Value: "-1",
			Message: "must be at least 1", Hint: `write "auto" to have it found`,
		}}}
	}
	before := f.current()
	if before.Text == string(text) {
		return f.changed(false), nil
	}
	f.keep("api", c, string(text), "-"+before.Text+"+"+string(text))
	return f.changed(true), nil
}

func (f *files) Rollback(c Change, ifMatch string, n int) (*Changed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.asked(c, ifMatch); err != nil {
		return nil, err
	}
	if n > len(f.kept) {
		return nil, &Failure{Code: CodeVersionUnknown, Detail: fmt.Sprintf("Version %d is not kept.", n)}
	}
	f.keep("rollback", c, f.kept[n-1].Text, "")
	return f.changed(true), nil
}

func (f *files) Reload(c Change) (*Changed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.asked(c, ""); err != nil {
		return nil, err
	}
	made := f.changed(false)
	made.RestartNeeded, made.Notes = []string{"server.listen"}, []string{"nothing else"}
	return made, nil
}

func (f *files) Overrides() []OverrideView {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.overrides)
}

func (f *files) SetOverride(c Change, o config.Override) (*Changed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.asked(c, ""); err != nil {
		return nil, err
	}
	f.set = o
	f.overrides = append(f.overrides, OverrideView{Override: o})
	return f.changed(true), nil
}

func (f *files) DropOverride(c Change, name string) (*Changed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.asked(c, ""); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(f.overrides, func(o OverrideView) bool { return o.Name == name })
	if i < 0 {
		return nil, &Failure{Code: CodeOverrideUnknown, Detail: fmt.Sprintf("There is no override %q.", name)}
	}
	f.overrides = slices.Delete(f.overrides, i, i+1)
	return f.changed(true), nil
}

// queued is a queue in the middle of an incident.
func queued() *QueueView {
	return &QueueView{
		Time:  t0,
		Total: 412,
		Waiting: []WaitingView{{
			RequestID: "7f3c-000092", Caller: "spider-77", Semantic: "export", Pool: "shared", Level: "batch", Band: "surge",
			WaitedMS: 3810, MaxWaitMS: 60000, EstimateMS: 4100, Place: 380, Bytes: 1024,
		}},
		Flows: []QueueByFlow{{Caller: "spider-77", Semantic: "export", Pool: "shared", Level: "batch", Waiting: 412, Unpaid: 392, OldestWaitMS: 3810}},
	}
}
