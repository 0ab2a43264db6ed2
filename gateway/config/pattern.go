package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// checkPath checks a route's path pattern: an exact path, or a prefix that ends in "/*". Patterns stand in
// the form that requests are brought to before they are matched, else they would never match: no dot
// segments, no doubled slashes, escapes only where they must be and with upper-case digits.
func checkPath(s string) error {
	if !strings.HasPrefix(s, "/") {
		return errors.New(`a path begins with "/"`)
	}
	path := s
	if prefix, ok := strings.CutSuffix(s, "/*"); ok {
		path = prefix + "/"
	}
	switch {
	case len(s) > 1024:
		return errors.New("a path has at most 1024 characters")
	case strings.Contains(path, "*"):
		return errors.New(`"*" may only stand at the end, after a slash: "/v1/chat/*"`)
	case strings.ContainsAny(path, "?#"):
		return errors.New("a pattern has no query and no fragment: they do not count for the match")
	case strings.Contains(path, "//"):
		return errors.New("doubled slashes are taken out of requests, so this would never match")
	}
	for segment := range strings.SplitSeq(path, "/") {
		name, _, _ := strings.Cut(strings.ReplaceAll(segment, "%3B", ";"), ";")
		switch {
		case name != "." && name != "..":
		case name == segment:
			return errors.New(`"." and ".." are resolved in requests, so this would never match`)
		default:
			return errors.New(`"." and ".." with parameters are ambiguous, and refused in requests`)
		}
	}
	if err := checkEscapes(path); err != nil {
		return err
	}
	if text, _ := url.PathUnescape(path); overlong(text) {
		return errors.New("an overlong UTF-8 sequence may hide a slash, and is refused in requests")
	}
	return nil
}

// reservedPath is where the gateway answers callers itself: what they register, what they have, and the page for them.
const reservedPath = "/.tidegate/"

// isReserved says that a path pattern is for what the gateway answers itself. One that holds more, like "/*", is
// not: the gateway's own go first.
func isReserved(pattern string) bool {
	return pattern+"/" == reservedPath || strings.HasPrefix(pattern, reservedPath)
}

// overlong says that s holds a UTF-8 sequence longer than its character needs. Bytes that are no UTF-8 at
// all may be an older encoding.
func overlong(s string) bool {
	for i := 1; i < len(s); i++ {
		if lead, next := s[i-1], s[i]; next >= 0x80 && next < 0xc0 {
			if lead == 0xc0 || lead == 0xc1 || lead == 0xe0 && next < 0xa0 || lead == 0xf0 && next < 0x90 {
				return true
			}
		}
	}
	return false
}

// checkEscapes looks at the bytes of a path one by one.
func checkEscapes(path string) error {
	for i := 0; i < len(path); i++ {
		switch b := path[i]; {
		case b <= ' ' || b >= 0x7f || strings.IndexByte("\"<>[]\\^`{|}", b) >= 0:
			return fmt.Errorf("there is a character in it that a request must escape; write %q", (&url.URL{Path: path}).EscapedPath())
		case b == '%':
			if i+2 >= len(path) || !only(path[i+1:i+3], "0123456789ABCDEF") {
				return errors.New("after % stand two hex digits, in upper case")
			}
			c := unhex(path[i+1])<<4 | unhex(path[i+2])
			if c == '/' || c == '\\' || c < ' ' || c == 0x7f {
				return errors.New("an escaped slash, backslash or control character is ambiguous, and refused in requests")
			}
			if isUnreserved(c) {
				return fmt.Errorf("%s is written %q: requests are brought to that form first", path[i:i+3], c)
			}
			i += 2
		}
	}
	return nil
}

// unhex is the value of an upper-case hex digit.
func unhex(b byte) byte {
	if b >= 'A' {
		return b - 'A' + 10
	}
	return b - '0'
}

// isUnreserved says that a byte means the same with and without an escape.
func isUnreserved(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' ||
		b == '-' || b == '.' || b == '_' || b == '~'
}
