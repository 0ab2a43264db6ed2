package upstream

// Outcome is how an exchange ended.
type Outcome uint8

const (
	Served          Outcome = iota // the whole answer was read and, in Finished, written
	Gone                           // the client's connection died, or stood still for the write stall timeout
	UpstreamError                  // the target broke off, or said what is no HTTP
	UpstreamTimeout                // the target was silent for too long
	NoUpstream                     // no target took a connection
	BodyError                      // the client's request body broke off or was too slow
)

var outcomes = [...]string{"served", "gone", "upstream_error", "upstream_timeout", "no_upstream", "body_error"}

func (o Outcome) String() string { return outcomes[o] }

// Reason says what went wrong, for the label of a metric. The set is small and fixed, so that a
// counter for each can be made in advance: Reason(0) to Reason(Reasons-1).
type Reason uint8

const (
	ReasonNone       Reason = iota
	ReasonDial              // no connection: refused, unreachable, or not within the connect timeout
	ReasonTimeout           // no byte of an answer within the timeout
	ReasonStall             // silent in the middle of an answer, or took no byte of a request, for the stall timeout
	ReasonReset             // the connection was closed before the answer's end
	ReasonProtocol          // the answer is not HTTP/1
	ReasonBodySlow          // the client's body: slower than it may be
	ReasonBodyBroken        // the client's body: broke off or malformed
	Reasons                 // how many there are
)

var reasons = [Reasons]string{"", "dial", "timeout", "stall", "reset", "protocol", "body_slow", "body_broken"}

func (r Reason) String() string { return reasons[r] }

// Result is what is known of an exchange.
type Result struct {
	Outcome Outcome
	Reason  Reason
	Status  int    // of the target's answer; 0 without one
	Bytes   int64  // of the answer's body: read from the target in SeatDone, written to the client in Finished
	Target  string // the URL of the target asked last
	Err     error  // nil when served
}

// Exchange is told of the two ends of one request. Both methods are called exactly once, SeatDone
// first, and neither may block. SeatDone may come from a goroutine of this package after Forward has
// returned; Finished always comes from the goroutine that serves the client, while its RequestCtx is
// still valid.
type Exchange interface {
	// SeatDone says that the target has no more work with the request: the answer's last byte was
	// read, or the connection was closed.
	SeatDone(Result)
	// Finished says that the client has got the answer or never will. For an inline answer, and where
	// Forward reports none, it follows SeatDone at once, before the server has written anything.
	Finished(Result)
}
