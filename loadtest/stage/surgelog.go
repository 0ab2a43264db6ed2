package stage

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"sync"
	"time"
)

// Surge is a verdict of the gateway's detector.
type Surge struct {
	Caller   string    `json:"caller"`
	Semantic string    `json:"semantic"`
	At       time.Time `json:"at"` // of the verdict
}

// Log takes the gateway's log, one JSON object a line, passes it on and keeps the surges it tells of. It is
// safe for concurrent use.
type Log struct {
	to  io.Writer
	now func() time.Time

	mu     sync.Mutex
	line   []byte // begun, not yet ended
	surges []Surge
	tail   [][]byte
}

// tailLines is how much of the log is shown when the gateway fails.
const tailLines = 15

// NewLog passes the log on to a writer.
func NewLog(to io.Writer) *Log { return &Log{to: to, now: time.Now} }

// Write takes a part of the log, of any length.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			l.line = append(l.line, rest...)
			break
		}
		l.line = append(l.line, rest[:end]...)
		l.take(l.line)
		l.line = l.line[:0]
		rest = rest[end+1:]
	}
	return l.to.Write(p)
}

func (l *Log) take(line []byte) {
	if surge, ok := parseSurge(line, l.now()); ok {
		l.surges = append(l.surges, surge)
	}
	if len(l.tail) == tailLines {
		l.tail = l.tail[1:]
	}
	l.tail = append(l.tail, bytes.Clone(line))
}

// Surges are the verdicts so far, in the order of the log.
func (l *Log) Surges() []Surge {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.surges)
}

// Tail is the log's last lines.
func (l *Log) Tail() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Join(append(slices.Clone(l.tail), l.line), []byte("\n"))
}

// parseSurge reads a log line; ok is false for every other event. The event's name is the message. The moment
// is the line's own stamp, in seconds since 1970 or RFC 3339; without one it is the moment of reading, which
// is never too early.
func parseSurge(line []byte, read time.Time) (surge Surge, ok bool) {
	if !bytes.Contains(line, []byte(`"surge"`)) {
		return Surge{}, false // nearly all lines: not worth decoding
	}
	var entry struct {
		Msg, Event       string
		Caller, Semantic string
		TS, Time         any
	}
	if json.Unmarshal(line, &entry) != nil || (entry.Msg != "surge" && entry.Event != "surge") || entry.Caller == "" {
		return Surge{}, false
	}
	surge = Surge{Caller: entry.Caller, Semantic: entry.Semantic, At: read}
	for _, stamp := range []any{entry.TS, entry.Time} {
		if at, known := parseStamp(stamp); known {
			surge.At = at
			break
		}
	}
	return surge, true
}

// MergeSurges adds to the log's surges those that only the snapshot knows. The same surge has the same caller and
// semantic and lies less than 2 s apart: the snapshot tells when it began, the log when that was found.
func MergeSurges(logged []Surge, snapshot Snapshot) []Surge {
	merged := slices.Clone(logged)
	for _, s := range snapshot.Surges {
		known := slices.ContainsFunc(logged, func(l Surge) bool {
			return l.Caller == s.Caller && l.Semantic == s.Semantic && l.At.Sub(s.Start).Abs() < 2*time.Second
		})
		if !known {
			merged = append(merged, Surge{Caller: s.Caller, Semantic: s.Semantic, At: s.Start})
		}
	}
	slices.SortFunc(merged, func(a, b Surge) int { return a.At.Compare(b.At) })
	return merged
}

func parseStamp(stamp any) (time.Time, bool) {
	switch s := stamp.(type) {
	case float64:
		if !(s > 0 && s < 1e11) {
			return time.Time{}, false
		}
		return time.UnixMicro(int64(s * 1e6)), true
	case string:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700"} {
			if at, err := time.Parse(layout, s); err == nil {
				return at, true
			}
		}
	}
	return time.Time{}, false
}
