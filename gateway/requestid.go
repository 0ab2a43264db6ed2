package gateway

import (
	"crypto/rand"
	"strconv"
	"sync/atomic"
)

// requestIDs makes ids that are unique across restarts: 12 random hex digits of the process, and a
// count. They say nothing secret, and everybody may see them. Safe for concurrent use.
type requestIDs struct {
	prefix [13]byte // ends in '-'
	last   atomic.Uint64
}

func newRequestIDs() *requestIDs {
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails
	r := &requestIDs{}
	for i, b := range random {
		r.prefix[2*i], r.prefix[2*i+1] = hexDigits[b>>4], hexDigits[b&15]
	}
	r.prefix[12] = '-'
	return r
}

// append appends the next id, at most 26 bytes.
func (r *requestIDs) append(dst []byte) []byte {
	return strconv.AppendUint(append(dst, r.prefix[:]...), r.last.Add(1), 36)
}

// acceptableRequestID says that an id from outside may be taken over: 1 to 128 visible ASCII
// characters, none of which could break a log line or a header.
func acceptableRequestID(id []byte) bool {
	if len(id) == 0 || len(id) > 128 {
		return false
	}
	for _, c := range id {
		if c <= ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' {
			return false
		}
	}
	return true
}
