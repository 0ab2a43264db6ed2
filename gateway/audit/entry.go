package audit

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"
)

// Entry is one thing that somebody did or tried to do. Its JSON is a line of the file.
type Entry struct {
	ID      uint64    `json:"id"`
	Time    time.Time `json:"time"`
	Actor   string    `json:"actor"`
	Role    string    `json:"role"`
	From    string    `json:"from"` // address
	Action  string    `json:"action"`
	Subject string    `json:"subject"` // what it was done to
	Reason  string    `json:"reason"`
	Outcome string    `json:"outcome"` // done | refused
	Code    string    `json:"code"`    // of the refusal
	Version int       `json:"version"` // of the configuration afterwards; 0: has nothing to do with it
	Diff    string    `json:"diff"`
}

// Outcomes of an entry.
const (
	Done    = "done"
	Refused = "refused"
)

// Query asks for entries, newest first.
type Query struct {
	Actor, Action string // empty: any
	Query         string // part of subject or reason; case does not matter
	Before        uint64 // only entries with a lower ID; 0: all
	Limit         int    // at least 1
}

// fits wants Query in lower case.
func (q *Query) fits(e *Entry) bool {
	return (q.Before == 0 || e.ID < q.Before) &&
		(q.Actor == "" || q.Actor == e.Actor) &&
		(q.Action == "" || q.Action == e.Action) &&
		(q.Query == "" || strings.Contains(strings.ToLower(e.Subject), q.Query) || strings.Contains(strings.ToLower(e.Reason), q.Query))
}

// What a text of an entry may have, in bytes. A diff is bounded because a configuration may be replaced as a whole, and the
// versions have it in full.
const (
	mostText = 2 << 10
	mostDiff = 64 << 10
	cut      = "... (cut)"
	mostLine = 6*(mostDiff+8*mostText) + 1<<10 // JSON takes at most six bytes for one
)

// bounded is an entry as it is kept.
func (e Entry) bounded() Entry {
	for _, text := range []*string{&e.Actor, &e.Role, &e.From, &e.Action, &e.Subject, &e.Reason, &e.Outcome, &e.Code} {
		*text = head(*text, mostText)
	}
	e.Diff = head(e.Diff, mostDiff)
	e.Time = e.Time.Round(0).UTC() // as it is read back
	return e
}

// head is the beginning of a text, no longer than most with the mark that it is cut.
func head(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most - len(cut)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cut
}

// size is about what an entry takes in memory.
func (e *Entry) size() int {
	return 256 + len(e.Actor) + len(e.Role) + len(e.From) + len(e.Action) + len(e.Subject) + len(e.Reason) + len(e.Code) + len(e.Diff)
}

func (e *Entry) appendLine(dst []byte) []byte {
	line, err := json.Marshal(e)
	if err != nil {
		// Only a year past 9999 can do that; what was done is worth more than when.
		at := *e
		at.Time = time.Unix(0, 0).UTC()
		line, _ = json.Marshal(&at)
	}
	return append(append(dst, line...), '\n')
}

// parseLine reads a line without its end; not ok: it is none of ours.
func parseLine(line []byte) (e Entry, ok bool) {
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &e) != nil {
		return Entry{}, false
	}
	return e, e.ID > 0
}
