package record

import (
	"strconv"
	"time"
)

// Header is the first line of a trace, without its end.
const Header = "timestamp_ms,caller,type,size,route,tenant,cost,seat_ms,outcome"

// Entry is what is kept of one request, when it has ended.
//
// The strings are kept beyond the call and must not lie in a request's memory: they are names of the
// configuration and constants. Tenant may lie there, since only its hash is kept.
type Entry struct {
	At       time.Time     // arrival; its wall clock counts
	Caller   string        // "" if the request was refused before its caller was known
	Semantic string        // "" likewise
	Route    string        // "" likewise
	Tenant   []byte        // empty: none
	Cost     int64         // what it costs its rate
	Bytes    int64         // of the answer's body
	Seat     time.Duration // seat time; 0: it had no seat
	Outcome  string        // the word as in the metrics
	Code     string        // of a refusal or error; "": none
}

// row is an entry on its way to the file.
type row struct {
	at                                     int64 // milliseconds since 1970
	caller, semantic, route, outcome, code string
	tenant                                 uint64 // hash; 0: none
	cost, bytes                            int64
	seat                                   time.Duration
}

// tenantBits are kept of a tenant's hash: a million tenants of one caller have all their own with a
// probability of 99.8 %.
const tenantBits = 48

// tenantHash is never 0.
func (k saltKey) tenantHash(caller string, tenant []byte) uint64 {
	// The same word means different customers at different callers. Both names are at most 128 bytes; longer
	// ones are only slower.
	var space [320]byte
	b := append(space[:0], caller...)
	b = append(b, 0)
	b = append(b, tenant...)
	return max(k.sum(b)>>(64-tenantBits), 1)
}

// appendSeat appends milliseconds with three decimals, or "0".
func appendSeat(dst []byte, d time.Duration) []byte {
	micros := d.Microseconds()
	if micros <= 0 {
		return append(dst, '0')
	}
	return appendPadded(append(strconv.AppendInt(dst, micros/1000, 10), '.'), micros%1000)
}

// appendPadded appends a number below 1,000 with all three digits.
func appendPadded(dst []byte, n int64) []byte {
	return append(dst, byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10))
}

// appendField appends a text as a CSV field, in quotes if it needs them.
func appendField(dst []byte, s string) []byte {
	if !isPlain(s) {
		return appendQuoted(dst, s)
	}
	return append(dst, s...)
}

func isPlain(s string) bool {
	for i := range len(s) {
		if needsQuotes[s[i]] {
			return false
		}
	}
	return true
}

// needsQuotes also has the blank: some readers strip it from a field's ends.
var needsQuotes = [256]bool{',': true, '"': true, '\n': true, '\r': true, ' ': true, '\t': true}

func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch s[i] {
		case '"':
			dst = append(dst, '"', '"')
		case '\n', '\r': // a record is a line, and no name of ours has these
			dst = append(dst, ' ')
		default:
			dst = append(dst, s[i])
		}
	}
	return append(dst, '"')
}

// appendOutcome appends the outcome, with its code where that says more.
func appendOutcome(dst []byte, outcome, code string) []byte {
	switch {
	case code == "" || code == outcome:
		return appendField(dst, outcome)
	case !isPlain(outcome) || !isPlain(code):
		return appendQuoted(dst, outcome+":"+code)
	}
	return append(append(append(dst, outcome...), ':'), code...)
}
