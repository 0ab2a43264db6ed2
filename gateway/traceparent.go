package gateway

import (
	"encoding/binary"
	"math/rand/v2"
)

// traceContext is one request's place in a distributed trace (W3C Trace Context, version 00).
type traceContext struct {
	trace [32]byte // hex
	span  [16]byte // hex: this hop's
	flags byte

	inherited bool // the trace is the request's: its tracestate may pass
}

const (
	traceparentLen = 55
	traceSampled   = 0x01
)

// newTrace goes on with the trace that parent names, with a new span for this hop, or starts a
// new, unsampled one if parent is not a valid traceparent. It does not allocate.
func newTrace(parent []byte) (t traceContext) {
	if validTraceparent(parent) {
		t.inherited = true
		copy(t.trace[:], parent[3:35])
		t.flags = byte(lowerHex(parent[53])<<4|lowerHex(parent[54])) & traceSampled
	} else {
		appendHex(t.trace[:0], nonZero())
		appendHex(t.trace[:16], rand.Uint64())
	}
	appendHex(t.span[:0], nonZero())
	return t
}

// appendParent appends the traceparent for the next hop, 55 bytes.
func (t *traceContext) appendParent(dst []byte) []byte {
	dst = append(dst, "00-"...)
	dst = append(dst, t.trace[:]...)
	dst = append(dst, '-')
	dst = append(dst, t.span[:]...)
	return append(dst, '-', '0', '0'+t.flags)
}

// validTraceparent says that b can be gone on with. Versions to come may append fields; their first
// four are read as this version's.
func validTraceparent(b []byte) bool {
	if len(b) < traceparentLen || b[2] != '-' || b[35] != '-' || b[52] != '-' {
		return false
	}
	version := b[:2]
	if !isLowerHex(version) || string(version) == "ff" {
		return false
	}
	if len(b) > traceparentLen && (string(version) == "00" || b[traceparentLen] != '-') {
		return false
	}
	return isLowerHex(b[3:35]) && !allZero(b[3:35]) && isLowerHex(b[36:52]) && !allZero(b[36:52]) && isLowerHex(b[53:55])
}

func isLowerHex(b []byte) bool {
	for _, c := range b {
		if lowerHex(c) < 0 {
			return false
		}
	}
	return true
}

func lowerHex(c byte) int {
	if c >= 'A' && c <= 'F' {
		return -1
	}
	return hexValue(c)
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != '0' {
			return false
		}
	}
	return true
}

// nonZero: an id of zeros means none.
func nonZero() uint64 {
	for {
		if n := rand.Uint64(); n != 0 {
			return n
		}
	}
}

// appendHex appends 16 hex digits: each byte is spread to two, whose nibbles are then digits.
func appendHex(dst []byte, n uint64) []byte {
	for _, half := range [2]uint64{n >> 32, n & 0xffffffff} {
		w := (half&0xffff0000)<<16 | half&0xffff
		w = (w&0x0000ff000000ff00)<<8 | w&0x000000ff000000ff
		w = (w&0x00f000f000f000f0)<<4 | w&0x000f000f000f000f
		letters := (w + 0x0606060606060606) >> 4 & 0x0101010101010101
		dst = binary.BigEndian.AppendUint64(dst, w+0x3030303030303030+letters*('a'-'0'-10))
	}
	return dst
}
