package openloop

import "time"

// Failure says why a request has no whole answer.
type Failure uint8

// The failures. None is the good case: an answer came, whatever its status.
const (
	None    Failure = iota
	Unsent          // the generator had no connection left: the run is void
	Dial            // no connection could be made
	Broken          // the connection ended before the whole answer was in
	Timeout         // no whole answer within the request's timeout
	GivenUp         // the generator hung up at the end of the run, after its grace
	Skipped         // never sent: the plan's Stop had ended the sending before
)

var failureNames = [...]string{"none", "unsent", "dial", "broken", "timeout", "given_up", "skipped"}

func (f Failure) String() string { return failureNames[f] }

// Result is what became of one arrival. Moments are since the start of the run.
type Result struct {
	Sent       time.Duration // the first byte written, or the dial begun where no connection was idle
	Done       time.Duration // the last byte of the answer read, or the failure seen
	Wait       time.Duration // in the server's queue, as it says
	Waited     bool
	Failure    Failure
	Status     int
	RetryAfter int    // whole seconds; 0: none that can be followed
	Code       string // of problem+json
}

// Latency is counted from the intended moment, so that whatever delays the sending counts as well.
func (r *Result) Latency(intended time.Duration) time.Duration { return r.Done - intended }
