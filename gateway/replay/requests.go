package replay

import (
	"errors"
	"io"

	"tidegate/gateway/record"
)

// requests reads the files that have a line for each request, all of them as one.
type requests struct {
	t      *Trace
	reader *record.Reader
	ended  bool // and its flaws are with the trace's
}

func (t *Trace) openRequests(paths []string) (source, error) {
	r, err := record.OpenReader(paths...)
	if err != nil {
		return nil, err
	}
	return &requests{t: t, reader: r}, nil
}

func (r *requests) next(a *Arrival) bool {
	for {
		rec, err := r.reader.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.t.flaws.add("the trace", 0, err)
			}
			r.t.flaws.join(r.reader.Flaws())
			r.ended = true
			return false
		}
		switch {
		case rec.At > maxMS || rec.At < -maxMS:
			r.t.flaws.add("timestamp_ms", 0, errFar)
			continue
		case rec.Caller == "":
			r.t.nobody++
			continue
		}
		k := originKey{Caller: rec.Caller, Type: rec.Type, Route: rec.Route, Full: rec.Full}
		if r.t.options.Semantic != "" {
			k.Type = r.t.options.Semantic
		}
		*a = Arrival{At: rec.At * 1_000_000, Origin: r.t.origins.origin(k), Tenant: rec.Tenant, Seat: rec.Seat}
		return true
	}
}

// progress is in blocks of lines, about 100 kB each.
func (r *requests) progress() (done, all int64) {
	d, a := r.reader.Progress()
	return int64(d) * 100_000, int64(a) * 100_000
}

func (r *requests) close() error { return r.reader.Close() }
