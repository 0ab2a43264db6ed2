package gateway

import (
	"encoding/hex"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"tidegate/gateway/config"
)

// noticesPerSecond bounds the lines of refusals, and those of errors, each for itself. A flood of
// refusals must not become a flood of writes; all of them are in the metrics.
const noticesPerSecond = 50

// maxLogged bounds a text that a client chose, in bytes.
const maxLogged = 256

// accessLog writes a line for a request: for those that went well as log.access says, and besides
// for refusals and errors, up to noticesPerSecond each. Asking whether a line is wanted costs some
// nanoseconds and no allocation, so what is in the line is put together only after wants said yes:
//
//	if l.wants(o, now) {
//		l.write(&accessEntry{...})
//	}
//
// Safe for concurrent use.
type accessLog struct {
	log       *zap.Logger
	start     time.Time    // seconds are counted from here: the wall clock may step
	perSecond atomic.Int64 // lines of requests that went well; negative: no bound
	gates     [lineKinds]gate
}

// lineKind is one kind of line, with a bound of its own. It is the line's event.
type lineKind uint8

const (
	lineAccess  lineKind = iota // went well, or the client gave up
	lineRefused                 // the client was told no
	lineFailed                  // the upstream's fault or ours

	lineKinds = iota
)

func (k lineKind) String() string { return [lineKinds]string{"access", "refused", "failed"}[k] }

func kindOf(o outcome) lineKind {
	switch o {
	case outcomeServed, outcomeGone:
		return lineAccess
	case outcomeRefused, outcomeBodyError:
		return lineRefused
	}
	return lineFailed
}

func levelOf(o outcome) zapcore.Level {
	switch {
	case o == outcomeInternal:
		return zapcore.ErrorLevel
	case kindOf(o) == lineFailed:
		return zapcore.WarnLevel
	}
	return zapcore.InfoLevel
}

// accessEntry is what one line says of a request. Texts that are empty are left out.
type accessEntry struct {
	RequestID       string
	ClientRequestID string   // the request's own, from a client that is not trusted
	Key             [32]byte // sha256 of the key that was sent, zero without one; only its start is written
	Caller          string
	Semantic        string
	Tenant          string
	Route           string
	Rule            string
	Method          string
	Path            string // a query, if there is one, is cut off: keys may be in it
	Status          int
	Outcome         outcome
	Code            string // of a refusal or error
	Band            string // in which it was dispatched
	Queue           time.Duration
	Seat            time.Duration
	Total           time.Duration
	Bytes           int64  // of the answer's body
	Target          string // of the upstream
	Remote          string // the client's address
	TraceID         string
	Reason          string // of an error, in our words
}

func newAccessLog(log *zap.Logger, c config.Log) *accessLog {
	l := &accessLog{log: log, start: time.Now()}
	l.apply(c)
	return l
}

// apply takes log.access and log.access_sample_per_second of a configuration.
func (l *accessLog) apply(c config.Log) {
	switch c.Access {
	case "all":
		l.perSecond.Store(-1)
	case "sampled":
		l.perSecond.Store(int64(max(0, c.AccessSamplePerSecond)))
	default:
		l.perSecond.Store(0)
	}
}

// wants says whether a request that ended so is to be written; if so, it must be.
func (l *accessLog) wants(o outcome, now time.Time) bool {
	kind := kindOf(o)
	if !l.log.Core().Enabled(levelOf(o)) {
		return false
	}
	bound := int64(noticesPerSecond)
	if kind == lineAccess {
		bound = l.perSecond.Load()
		if bound < 0 {
			return true
		}
		if bound == 0 {
			return false
		}
	}
	ok, missed := l.gates[kind].pass(bound, l.second(now))
	l.suppressed(kind, missed)
	return ok
}

// second counts from 1, so that the zero gate is in a second that is over.
func (l *accessLog) second(now time.Time) int64 { return int64(now.Sub(l.start)/time.Second) + 1 }

// tick writes what is still to be said of lines that were left out, where no later line has. It is
// called about once a second, and at the end with a moment one second ahead.
func (l *accessLog) tick(now time.Time) {
	for kind := range l.gates {
		l.suppressed(lineKind(kind), l.gates[kind].settle(noticesPerSecond, l.second(now)))
	}
}

// suppressed says how many lines were left out. A sample is one by its own name, so for that nothing
// is said.
func (l *accessLog) suppressed(kind lineKind, missed int64) {
	if missed == 0 || kind == lineAccess {
		return
	}
	level := zapcore.InfoLevel
	if kind == lineFailed {
		level = zapcore.WarnLevel
	}
	if line := l.log.Check(level, "suppressed"); line != nil {
		line.Write(zap.Stringer("of", kind), zap.Int64("count", missed))
	}
}

// write writes the line.
func (l *accessLog) write(e *accessEntry) {
	line := l.log.Check(levelOf(e.Outcome), kindOf(e.Outcome).String())
	if line == nil {
		return
	}
	path, _, _ := strings.Cut(e.Path, "?")
	fields := make([]zap.Field, 0, 24)
	text := func(name, value string) {
		if value != "" {
			fields = append(fields, zap.String(name, value[:min(len(value), maxLogged)]))
		}
	}
	text("request_id", e.RequestID)
	text("client_request_id", e.ClientRequestID)
	if e.Key != ([32]byte{}) {
		text("key", hex.EncodeToString(e.Key[:4]))
	}
	text("caller", e.Caller)
	text("semantic", e.Semantic)
	text("tenant", e.Tenant)
	text("route", e.Route)
	text("rule", e.Rule)
	text("method", e.Method)
	text("path", path)
	fields = append(fields, zap.Int("status", e.Status), zap.Stringer("outcome", e.Outcome))
	text("code", e.Code)
	text("band", e.Band)
	fields = append(fields,
		zap.Float64("queue_ms", milliseconds(e.Queue)),
		zap.Float64("seat_ms", milliseconds(e.Seat)),
		zap.Float64("total_ms", milliseconds(e.Total)),
		zap.Int64("bytes", e.Bytes),
	)
	text("upstream", e.Target)
	text("remote", e.Remote)
	text("trace_id", e.TraceID)
	text("reason", e.Reason)
	line.Write(fields...)
}

// milliseconds keeps microseconds, the smallest that a clock on a busy machine means.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
