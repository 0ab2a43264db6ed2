// Package octets knows which bytes headers may have, and where, and compares them as they are: without
// making strings of them.
package octets

import "encoding/binary"

// IsToken says that b has only bytes that names and methods may have (RFC 9110, 5.6.2).
func IsToken(b []byte) bool {
	for _, c := range b {
		if Token[c] == 0 {
			return false
		}
	}
	return true
}

// CleanTarget says that b has no blanks, control bytes or fragment, as a request target may not.
func CleanTarget(b []byte) bool {
	if len(b) >= 8 {
		for i := 0; i < len(b)-8; i += 8 {
			if below(word(b[i:]), ' '+1)|equals(word(b[i:]), 0x7f)|equals(word(b[i:]), '#') != 0 {
				return false
			}
		}
		last := word(b[len(b)-8:])
		return below(last, ' '+1)|equals(last, 0x7f)|equals(last, '#') == 0
	}
	for _, c := range b {
		if c <= ' ' || c == 0x7f || c == '#' {
			return false
		}
	}
	return true
}

// CleanValue says that b has no control bytes but tabs. Eight bytes are looked at together, the last ones
// with some that were seen already; tabs are rare, and looked at one by one.
func CleanValue(b []byte) bool {
	if len(b) < 8 {
		return cleanBytes(b)
	}
	for i := 0; i < len(b)-8; i += 8 {
		if w := word(b[i:]); below(w, ' ')|equals(w, 0x7f) != 0 {
			return cleanBytes(b[i:])
		}
	}
	w := word(b[len(b)-8:])
	return below(w, ' ')|equals(w, 0x7f) == 0 || cleanBytes(b[len(b)-8:])
}

func cleanBytes(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

const (
	eachByte = 0x0101010101010101
	topBits  = 0x8080808080808080
)

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// below is not 0 if a byte of w is below n, which is at most 128: taking n off borrows from its top bit.
func below(w, n uint64) uint64 { return (w - eachByte*n) &^ w & topBits }

// equals is not 0 if a byte of w is c.
func equals(w, c uint64) uint64 {
	w ^= eachByte * c
	return (w - eachByte) &^ w & topBits
}

// EqualFold compares b with lower, which is in lower case and ASCII.
func EqualFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// Token marks the bytes of a token, Host those of a host with a port: not 0 is yes. Neither is to be
// written.
var (
	Token = byteTable("!#$%&'*+-.^_`|~")
	Host  = byteTable("-._~%!$&'()*+;=:[]")
)

// byteTable marks letters, digits and extra.
func byteTable(extra string) (t [256]uint8) {
	for c := '0'; c <= '9'; c++ {
		t[c] = 1
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-0x20] = 1, 1
	}
	for _, c := range extra {
		t[c] = 1
	}
	return t
}

// Trim is b without the blanks and tabs around it.
func Trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}
