package gateway

import (
	"math/bits"
	"strconv"
	"time"
)

// The RateLimit fields of the IETF's httpapi draft, as structured fields (RFC 9651): the rule's id is
// the policy's name, a String.
//
//	RateLimit-Policy: "paid/reports/export";q=20;w=60
//	RateLimit: "paid/reports/export";r=3;t=12

// largestSFInteger is the largest Integer that structured fields have.
const largestSFInteger = 999_999_999_999_999

// appendRateLimitPolicy appends the policy of a rule that pays n of cost in any per. The draft's window
// is in whole seconds, at least one: a rate over a fraction is said as the same rate over the next whole
// second, rounded down, since a client that paces itself by q/w must not come to more than it has. What
// depends only on the rule can be made once.
func appendRateLimitPolicy(dst []byte, rule string, n int64, per time.Duration) []byte {
	window := wholeSeconds(per)
	quota := n
	if whole := time.Duration(window) * time.Second; whole != per && per > 0 {
		quota = scale(n, int64(whole), int64(per))
	}
	dst = appendSFString(dst, rule)
	dst = append(dst, ";q="...)
	dst = strconv.AppendInt(dst, min(max(quota, 0), largestSFInteger), 10)
	dst = append(dst, ";w="...)
	return strconv.AppendInt(dst, window, 10)
}

// appendRateLimit appends what is left of the rule's rate, never below 0, and when it has more:
// t in whole seconds, at least 1, left out if nothing is missing (reset is 0). The rule's id comes as
// appendSFString has made it.
func appendRateLimit(dst, rule []byte, remaining int64, reset time.Duration) []byte {
	dst = append(dst, rule...)
	dst = append(dst, ";r="...)
	dst = strconv.AppendInt(dst, min(max(remaining, 0), largestSFInteger), 10)
	if reset > 0 {
		dst = append(dst, ";t="...)
		dst = strconv.AppendInt(dst, wholeSeconds(reset), 10)
	}
	return dst
}

// appendSFString appends a String, which has visible ASCII and blanks only: other bytes are
// percent-encoded, as they are in addresses.
func appendSFString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ' && c < 0x7f:
			dst = append(dst, c)
		default:
			dst = append(dst, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
		}
	}
	return append(dst, '"')
}

// scale is n x a/b rounded down, or largestSFInteger if that is larger; all are above 0.
func scale(n, a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(a))
	if hi >= uint64(b) {
		return largestSFInteger
	}
	q, _ := bits.Div64(hi, lo, uint64(b))
	return int64(min(q, largestSFInteger))
}
