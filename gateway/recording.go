package gateway

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"

	"tidegate/gateway/config"
	"tidegate/gateway/record"
)

// The trace of what was offered. A directory that is new is opened while a configuration is prepared,
// since that may fail; it is changed to when the configuration comes into force.

// recording is what one configuration wants of the trace.
type recording struct {
	options  record.Options // without a Dir: nothing is recorded
	recorder *record.Recorder
	opened   bool // by this configuration
}

func (g *Gateway) prepareRecording(c *config.Config, old *live) (r recording, err error) {
	if c.Record.Dir == "" {
		return r, nil
	}
	r.options = record.Options{
		Dir: c.RecordDir(), MaxBytes: int64(c.Record.MaxBytes), FileBytes: int64(c.Record.FileBytes), FileSpan: c.Record.FileSpan.Duration,
		Failed: func(err error) {
			g.recordTrouble.failed(time.Now(), err)
			g.logs.Error("record", zap.Error(err), zap.String("remedy", "requests are served, and not recorded; make room in record.dir, or switch it off"))
		},
	}
	if old != nil && sameDirectory(old.recording.options.Dir, r.options.Dir) {
		r.recorder = old.recording.recorder
		return r, nil
	}
	if r.recorder, err = record.Open(r.options); err != nil {
		return r, fmt.Errorf("record.dir = %q: %w", c.Record.Dir, err)
	}
	r.opened = true
	return r, nil
}

// sameDirectory says whether two names mean one directory: it is taken already then, by ourselves.
func sameDirectory(a, b string) bool {
	if a == b {
		return true
	}
	there, err1 := os.Stat(a)
	here, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(there, here)
}

// drop lets go of what was opened for a configuration that did not come into force.
func (r *recording) drop() {
	if r.opened {
		_ = r.recorder.Close() // nothing was written
	}
}

// beginRecording records as this configuration wants, and ends what the one before wanted otherwise.
func (g *Gateway) beginRecording(r *recording, old *live) {
	if r.recorder != nil && !r.opened {
		if err := r.recorder.Apply(r.options); err != nil {
			r.options.Failed(err)
		}
	}
	g.recorder.Store(r.recorder)
	if old != nil && old.recording.recorder != nil && old.recording.recorder != r.recorder {
		g.endRecording(old.recording.recorder)
	}
}

func (g *Gateway) endRecording(r *record.Recorder) {
	if err := r.Close(); err != nil {
		g.logs.Error("record", zap.Error(err))
	}
}

// record puts a request that has ended into the trace.
func (x *exchange) record(r *record.Recorder) {
	e := record.Entry{At: x.start, Tenant: x.tenant, Bytes: x.result.Bytes, Seat: time.Duration(x.seatTime.Load()), Outcome: x.outcome.String()}
	if x.caller != nil {
		e.Caller = x.caller.ID
	}
	if x.route != nil {
		e.Route = x.route.Name
	}
	if x.rule != nil {
		e.Semantic, e.Cost = x.semantic.Name, x.rule.Cost
	}
	if x.code != CodeNone {
		e.Code = x.code.String()
	}
	r.Add(&e)
}
