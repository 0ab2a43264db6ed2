package gateway

import (
	"bytes"
	"math"

	"tidegate/gateway/octets"
)

// headerScan checks the bytes of one request header, as they arrive, against the strict reading of
// RFC 9112. Two servers that read one header differently can be played off against each other (request
// smuggling), so whatever could be read in two ways is refused instead of repaired: line ends other
// than CRLF, folded lines, blanks before a colon, control bytes, a second Host or Content-Length, a
// Content-Length beside Transfer-Encoding, any transfer coding but chunked.
//
// It also learns where the header ends and how its body is framed. The zero value is ready. Not safe
// for concurrent use.
type headerScan struct {
	pos    int // start of the first line that was not checked yet
	lines  int // checked lines, the request line included
	length int64
	seen   scanSeen
	why    string

	host, authority span // in the scanned bytes; authority: of an absolute-form target
}

type scanSeen uint8

const (
	seenHost scanSeen = 1 << iota
	seenLength
	seenCoding
	seenContinue // Expect: 100-continue
	seenHTTP11
)

// bodyChunked is the length of a body that ends with its last chunk.
const bodyChunked = -1

type span struct{ from, to int }

type scanState uint8

const (
	scanMore scanState = iota // the header is not whole yet
	scanDone                  // it ends at pos
	scanBad                   // why says what is wrong with it
)

// checkFraming checks a whole header, from its request line to its empty line.
func checkFraming(header []byte) (ok bool, why string) {
	var s headerScan
	switch s.scan(header) {
	case scanDone:
		return true, ""
	case scanBad:
		return false, s.why
	}
	return false, "the header has no end"
}

// scan goes on with b, which holds the header from its first byte and has grown since the last call.
func (s *headerScan) scan(b []byte) scanState {
	if s.pos == 0 && len(b) > 0 && octets.Token[b[0]] == 0 && b[0] != '\r' {
		return s.bad("this is not HTTP")
	}
	for {
		i := bytes.IndexByte(b[s.pos:], '\n')
		if i < 0 {
			return scanMore
		}
		end := s.pos + i - 1 // of the line's content
		if end < s.pos || b[end] != '\r' {
			return s.bad("a line does not end in CRLF")
		}
		from := s.pos
		s.pos += i + 1
		switch {
		case s.lines == 0 && from == end:
			// one empty line before the request is an old habit of clients
			if from > 0 {
				return s.bad("empty lines before the request")
			}
		case s.lines == 0:
			s.lines++
			if !s.requestLine(b, from, end) {
				return scanBad
			}
		case from == end:
			if !s.finish(b) {
				return scanBad
			}
			return scanDone
		default:
			s.lines++
			if !s.field(b, from, end) {
				return scanBad
			}
		}
	}
}

func (s *headerScan) bad(why string) scanState {
	s.why = why
	return scanBad
}

func (s *headerScan) fail(why string) bool {
	s.why = why
	return false
}

func (s *headerScan) requestLine(b []byte, from, end int) bool {
	line := b[from:end]
	i := bytes.IndexByte(line, ' ')
	if i <= 0 || !octets.IsToken(line[:i]) {
		return s.fail("the request line has no method")
	}
	if string(line[:i]) == "CONNECT" {
		return s.fail("CONNECT is not served here")
	}
	version := line[max(len(line)-len(" HTTP/1.1"), 0):]
	switch string(version) {
	case " HTTP/1.1":
		s.seen |= seenHTTP11
	case " HTTP/1.0":
	default:
		return s.fail("the request line does not end in HTTP/1.1 or HTTP/1.0")
	}
	if len(line)-len(version) <= i {
		return s.fail("the request line has no target")
	}
	target := line[i+1 : len(line)-len(version)]
	if len(target) == 0 || !octets.CleanTarget(target) {
		return s.fail("the request target is empty or has blanks, control bytes or a fragment")
	}
	if target[0] == '/' || len(target) == 1 && target[0] == '*' {
		return true
	}
	i = bytes.Index(target, []byte("://"))
	if i <= 0 {
		return s.fail("the request target does not begin with /")
	}
	start := from + bytes.IndexByte(line, ' ') + 1 + i + len("://")
	stop := start
	for stop < from+len(line)-len(version) && b[stop] != '/' && b[stop] != '?' {
		stop++
	}
	s.authority = span{start, stop}
	return true
}

func (s *headerScan) field(b []byte, from, end int) bool {
	i := from
	for _, c := range b[from:end] {
		if octets.Token[c] == 0 {
			break
		}
		i++
	}
	if i == from || i == end || b[i] != ':' {
		if b[from] == ' ' || b[from] == '\t' {
			return s.fail("a header line is folded")
		}
		return s.fail("a header name is empty, or has blanks or other bytes that no name may have")
	}
	if !octets.CleanValue(b[i+1 : end]) {
		return s.fail("a header value has control bytes")
	}
	name := b[from:i]
	switch len(name) {
	case len("host"):
		if octets.EqualFold(name, "host") {
			return s.hostField(b, i+1, end)
		}
	case len("expect"):
		if octets.EqualFold(name, "expect") && octets.EqualFold(octets.Trim(b[i+1:end]), "100-continue") {
			s.seen |= seenContinue
		}
	case len("content-length"):
		if octets.EqualFold(name, "content-length") {
			return s.lengthField(octets.Trim(b[i+1 : end]))
		}
	case len("transfer-encoding"):
		if octets.EqualFold(name, "transfer-encoding") {
			return s.codingField(octets.Trim(b[i+1 : end]))
		}
	}
	return true
}

func (s *headerScan) hostField(b []byte, from, end int) bool {
	if s.seen&seenHost != 0 {
		return s.fail("there is more than one Host")
	}
	s.seen |= seenHost
	for from < end && (b[from] == ' ' || b[from] == '\t') {
		from++
	}
	for end > from && (b[end-1] == ' ' || b[end-1] == '\t') {
		end--
	}
	for _, c := range b[from:end] {
		if octets.Host[c] == 0 {
			return s.fail("the Host is not a name or address with an optional port")
		}
	}
	s.host = span{from, end}
	return true
}

func (s *headerScan) lengthField(value []byte) bool {
	if s.seen&seenLength != 0 {
		return s.fail("there is more than one Content-Length")
	}
	s.seen |= seenLength
	// 18 digits cannot overflow
	if len(value) == 0 || len(value) > 18 {
		return s.fail("the Content-Length is not a number")
	}
	var n int64
	for _, c := range value {
		if c < '0' || c > '9' {
			return s.fail("the Content-Length is not a number")
		}
		n = n*10 + int64(c-'0')
	}
	if n > math.MaxInt {
		return s.fail("the Content-Length is not a number")
	}
	s.length = n
	return true
}

func (s *headerScan) codingField(value []byte) bool {
	if s.seen&seenCoding != 0 || !octets.EqualFold(value, "chunked") {
		return s.fail("the only Transfer-Encoding understood is chunked, once")
	}
	s.seen |= seenCoding
	return true
}

// finish checks what only the whole header can tell.
func (s *headerScan) finish(b []byte) bool {
	if s.seen&seenCoding != 0 {
		if s.seen&seenLength != 0 {
			return s.fail("there is a Content-Length beside a Transfer-Encoding")
		}
		if s.seen&seenHTTP11 == 0 {
			return s.fail("a Transfer-Encoding needs HTTP/1.1")
		}
		s.length = bodyChunked
	}
	host := b[s.host.from:s.host.to]
	if s.seen&seenHTTP11 != 0 && len(host) == 0 {
		return s.fail("there is no Host")
	}
	if s.authority != (span{}) && len(host) > 0 {
		authority := b[s.authority.from:s.authority.to]
		if len(authority) != len(host) || !bytes.EqualFold(authority, host) {
			return s.fail("the Host differs from the request target's")
		}
	}
	return true
}
