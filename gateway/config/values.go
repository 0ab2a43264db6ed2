package config

import "time"

// Rate is an amount of cost over a span: "200/s", "20/60s", "5/min". The zero value is "no rate".
type Rate struct {
	N    int64         // cost, at least 1
	Per  time.Duration // above 0, at most an hour
	Text string        // as written, and as shown
}

// Duration is a span of time in the notation of time.ParseDuration.
type Duration struct{ time.Duration }

// Size is a number of bytes: "64KiB", "8MiB", "512".
type Size int64

// Seats is a pool's number of seats, or "auto".
type Seats struct {
	N    int // when not Auto, at least 1
	Auto bool
}

// OffPeak is a quiet span of the day, in minutes after midnight; To may be below From (over midnight).
type OffPeak struct {
	From, To int
	Text     string // "01:00-06:00"
}
