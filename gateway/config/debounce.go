package config

import "time"

const (
	// quiet is how long a file must rest before it is read: editors and copies write in pieces.
	quiet = 150 * time.Millisecond
	// patience bounds the wait for quiet: a file that is written ten times a second never rests, and is
	// still to be taken within half a second.
	patience = 300 * time.Millisecond
)

// debounce decides when a file that changes is read: after quiet, but no later than patience after the
// first change that has not been read yet. The zero value has seen none.
type debounce struct {
	first, last time.Time
}

// note says that the file has changed.
func (d *debounce) note(now time.Time) {
	if d.first.IsZero() {
		d.first = now
	}
	d.last = now
}

// due is the moment to read the file; not ok: nothing has changed.
func (d *debounce) due() (at time.Time, ok bool) {
	if d.first.IsZero() {
		return time.Time{}, false
	}
	at = d.last.Add(quiet)
	if limit := d.first.Add(patience); limit.Before(at) {
		at = limit
	}
	return at, true
}

// done says that the file has been read.
func (d *debounce) done() { *d = debounce{} }
