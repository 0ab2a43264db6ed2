package gateway

// outcome is how a request ended.
type outcome uint8

const (
	outcomeServed          outcome = iota
	outcomeRefused                 // by the gateway, with a code
	outcomeGone                    // the client hung up before it had its answer
	outcomeBodyError               // the request's body was too slow, too large or broken off
	outcomeUpstreamError           // the upstream could not be reached, or broke off
	outcomeUpstreamTimeout         // the upstream did not begin or go on in time
	outcomeInternal                // a panic, caught

	outcomes = iota
)

// String is the outcome's name in metrics and logs.
func (o outcome) String() string {
	return [outcomes]string{
		"served", "refused", "gone", "body_error", "upstream_error", "upstream_timeout", "internal",
	}[o]
}
