package gateway

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"tidegate/detector"
	"tidegate/gateway/config"
)

// logs is the process's log. Each line is one event, and "event" names it in one word: what a reader
// filters by is a field and not a phrase.
//
// It goes to standard error, so that standard output holds what a command was asked for. Lines are
// written at once, without a buffer: the last ones before a crash are the ones that are wanted.
type logs struct {
	*zap.Logger
	level zap.AtomicLevel
}

// newLogs makes the log that c describes, on standard error.
func newLogs(c config.Log) (*logs, error) { return logsTo(zapcore.Lock(os.Stderr), c) }

func logsTo(out zapcore.WriteSyncer, c config.Log) (*logs, error) {
	level, err := zap.ParseAtomicLevel(c.Level)
	if err != nil {
		return nil, fmt.Errorf("cannot open the log: log.level = %q: use debug, info, warn or error", c.Level)
	}
	e := zapcore.EncoderConfig{
		TimeKey:        "time",
		LevelKey:       "level",
		MessageKey:     "event",
		StacktraceKey:  "stack",
		LineEnding:     zapcore.DefaultLineEnding,
		EncodeTime:     zapcore.TimeEncoderOfLayout("2006-01-02T15:04:05.000Z07:00"),
		EncodeLevel:    zapcore.LowercaseLevelEncoder,
		EncodeDuration: zapcore.StringDurationEncoder,
	}
	var encoder zapcore.Encoder
	switch c.Format {
	case "json":
		encoder = zapcore.NewJSONEncoder(e)
	case "console":
		encoder = zapcore.NewConsoleEncoder(e)
	default:
		return nil, fmt.Errorf("cannot open the log: log.format = %q: use json or console", c.Format)
	}
	// A line that cannot be written is said nowhere else: the log is where one would say it.
	core := zapcore.NewCore(encoder, out, level)
	return &logs{Logger: zap.New(core, zap.ErrorOutput(zapcore.AddSync(discard{}))), level: level}, nil
}

// setLevel changes the level of what is logged from now on. The format is that of the start: a file
// whose lines change their form half way is of no use to what reads it.
func (l *logs) setLevel(level string) error {
	parsed, err := zapcore.ParseLevel(level)
	if err != nil {
		return fmt.Errorf("cannot change the log's level: log.level = %q: use debug, info, warn or error", level)
	}
	l.level.SetLevel(parsed)
	return nil
}

// discard takes what the log says about its own failures.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// surgeEvent is what the detector says of one flow, and why.
type surgeEvent struct {
	Caller, Semantic string
	detector.Report
	Waiting int     // requests of the flow
	Peak    float64 // of the surge, in requests a second, once it has ended
	Lasted  time.Duration
}

// surge logs that a flow has begun to surge. Surges are few, so they are never left out.
func (l *logs) surge(e surgeEvent) { l.verdict("surge", e) }

// calm logs that a surge has ended.
func (l *logs) calm(e surgeEvent) { l.verdict("calm", e) }

func (l *logs) verdict(event string, e surgeEvent) {
	line := l.Check(zapcore.InfoLevel, event)
	if line == nil {
		return
	}
	since, peak, lasted := zap.Skip(), zap.Skip(), zap.Skip()
	if !e.Since.IsZero() {
		since = zap.Time("since", e.Since)
	}
	if e.Lasted > 0 {
		peak, lasted = zap.Float64("peak", round(e.Peak)), zap.Float64("lasted_s", round(e.Lasted.Seconds()))
	}
	line.Write(
		zap.String("caller", e.Caller),
		zap.String("semantic", e.Semantic),
		zap.Float64("rate", round(e.Observed)),
		zap.Float64("expected", round(e.Expected)),
		zap.Float64("ratio", round(e.Ratio)),
		zap.Float64("score", round(e.Score)),
		zap.Float64("needed", round(e.Needed)),
		since, peak, lasted,
		zap.Stringer("season", e.Slot),
		zap.Bool("seasonal", e.Seasonal),
		zap.Bool("learning", e.Learning),
		zap.Int("waiting", e.Waiting),
	)
}
