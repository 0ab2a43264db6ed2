package policy

import (
	"bytes"
	"unicode/utf8"
)

// NormalisePath brings the path of a request target (no query) into the one form that is matched and sent on:
//
//   - it begins with a slash; doubled slashes are one; "." and ".." segments are resolved;
//   - percent-encoded letters, digits and -._~ are decoded; other escapes stay, in upper case; bytes that a
//     path may not hold as they are (above 127, and "<>^`{|}) are encoded.
//
// A slash at the end is kept, since /a and /a/ are two resources. A path that servers are known to read in
// different ways is refused (ok is false): an encoded slash, a backslash or control byte in either form, a
// broken escape, a dot segment that was encoded or carries parameters ("/..;x/"), one that climbs above the root,
// an overlong UTF-8 sequence (it hides an ASCII byte), a space, "?" or "#".
//
// A canonical raw is returned as it is. Otherwise the result is written to dst[:0], which must not overlap raw
// and is grown if it is too small; three times len(raw) is always enough. The result is a fixed point: normalised
// again it stays the same.
func NormalisePath(dst, raw []byte) (path []byte, ok bool) {
	form := inspectPath(raw)
	switch form {
	case pathBad:
		return nil, false
	case pathCanonical:
		return raw, true
	}
	return rewritePath(dst[:0], raw)
}

type pathForm uint8

const (
	pathBad pathForm = iota
	pathCanonical
	pathOther // to be rewritten; it may still climb above the root
)

// byteClass says what a byte of a path means when it stands there unencoded.
type byteClass uint8

const (
	byteBad        byteClass = iota
	byteUnreserved           // its escape means the same
	byteReserved             // may stand as it is; its escape may mean something else to an upstream
	byteEncode               // must be encoded
	byteSlash
	bytePercent
)

var classOf = func() (t [256]byteClass) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			t[c] = byteUnreserved
		case c > 127:
			t[c] = byteEncode
		}
	}
	for _, c := range "-._~" {
		t[c] = byteUnreserved
	}
	for _, c := range "!$&'()*+,;=:@" {
		t[c] = byteReserved
	}
	for _, c := range "\"<>^`{|}[]" {
		t[c] = byteEncode
	}
	t['/'], t['%'] = byteSlash, bytePercent
	return t
}()

// inspectPath finds everything that is wrong with one byte or one segment, and whether something is to be rewritten.
func inspectPath(raw []byte) pathForm {
	if len(raw) == 0 || raw[0] != '/' {
		return pathBad
	}
	form := pathCanonical
	high := false // some byte above 127, in either form
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch classOf[c] {
		case byteUnreserved, byteReserved:
		case byteSlash:
			switch segmentForm(raw[i+1:]) {
			case pathBad:
				return pathBad
			case pathOther:
				form = pathOther
			}
		case bytePercent:
			d, ok := unescape(raw[i:])
			if !ok || d < 0x20 || d == 0x7f || d == '/' || d == '\\' {
				return pathBad
			}
			high = high || d > 127
			if classOf[d] == byteUnreserved || isLowerHex(raw[i+1]) || isLowerHex(raw[i+2]) {
				form = pathOther
			}
			i += 2
		case byteEncode:
			high = high || c > 127
			form = pathOther
		default:
			return pathBad
		}
	}
	if high && overlong(raw) {
		return pathBad
	}
	return form
}

// segmentForm looks at the segment that path begins with: an empty one, unless it is the last, and the dot
// segments are resolved. A dot segment that is encoded in part, or has parameters behind it, is resolved by some
// servers and not by others.
func segmentForm(path []byte) pathForm {
	if len(path) == 0 {
		return pathCanonical
	}
	if path[0] == '/' {
		return pathOther
	}
	if path[0] != '.' && path[0] != '%' {
		return pathCanonical
	}
	dots, encoded, i := 0, false, 0
	for i < len(path) {
		if path[i] == '.' {
			i++
		} else if d, ok := unescape(path[i:]); ok && d == '.' {
			encoded = true
			i += 3
		} else {
			break
		}
		dots++
	}
	switch {
	case dots == 0 || dots > 2:
		return pathCanonical
	case i == len(path) || path[i] == '/':
		if encoded {
			return pathBad
		}
		return pathOther
	}
	if d, ok := unescape(path[i:]); path[i] == ';' || ok && d == ';' {
		return pathBad
	}
	return pathCanonical
}

// rewritePath writes the canonical form of a path that inspectPath has let pass.
func rewritePath(out, raw []byte) (path []byte, ok bool) {
	slash := false // the path so far ends in a slash that is not written yet
	for rest := raw[1:]; ; {
		seg, more, found := rest, []byte(nil), false
		if i := bytes.IndexByte(rest, '/'); i >= 0 {
			seg, more, found = rest[:i], rest[i+1:], true
		}
		switch string(seg) {
		case "", ".":
			slash = true
		case "..":
			if len(out) == 0 {
				return nil, false
			}
			out = out[:bytes.LastIndexByte(out, '/')]
			slash = true
		default:
			out = append(out, '/')
			out = rewriteSegment(out, seg)
			slash = false
		}
		if !found {
			break
		}
		rest = more
	}
	if slash {
		out = append(out, '/')
	}
	return out, true
}

func rewriteSegment(out, seg []byte) []byte {
	for i := 0; i < len(seg); i++ {
		c, class := seg[i], classOf[seg[i]]
		if c == '%' {
			c, _ = unescape(seg[i:])
			i += 2
			class = classOf[c]
			if class != byteUnreserved {
				class = byteEncode // a reserved byte stays encoded if it was
			}
		}
		if class == byteEncode {
			out = append(out, '%', upperHex[c>>4], upperHex[c&15])
		} else {
			out = append(out, c)
		}
	}
	return out
}

const upperHex = "0123456789ABCDEF"

func isLowerHex(c byte) bool { return c >= 'a' && c <= 'f' }

// unescape decodes the escape %XX that b begins with. ok is false if it begins with none.
func unescape(b []byte) (c byte, ok bool) {
	if len(b) < 3 || b[0] != '%' {
		return 0, false
	}
	hi, ok1 := unhex(b[1])
	lo, ok2 := unhex(b[2])
	return hi<<4 | lo, ok1 && ok2
}

func unhex(c byte) (v byte, ok bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// overlong tells whether the decoded path holds a UTF-8 sequence that is longer than its character needs. A
// lenient decoder makes an ASCII byte of it, such as the slash that is refused when it is encoded plainly. Other bytes
// that are no UTF-8 pass: some upstreams still use older encodings.
func overlong(raw []byte) bool {
	lead := byte(0)
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c == '%' {
			c, _ = unescape(raw[i:])
			i += 2
		}
		if !utf8.RuneStart(c) {
			switch {
			case lead == 0xC0, lead == 0xC1,
				lead == 0xE0 && c < 0xA0,
				lead == 0xF0 && c < 0x90:
				return true
			}
		}
		lead = c
	}
	return false
}
