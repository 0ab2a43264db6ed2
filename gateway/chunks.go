package gateway

import "tidegate/gateway/octets"

// chunkReader parses the framing of a chunked body, strictly: sizes are hex digits and nothing else, lines
// end in CRLF, a chunk's data is followed by CRLF. Extensions and trailer fields are checked for what
// could hide another request in them, and dropped. The zero value stands before the first chunk.
type chunkReader struct {
	state    chunkState
	size     int64 // of the chunk that begins
	digits   int
	overhead int // bytes of extensions and trailer so far
}

// maxChunkOverhead bounds the extensions and the trailer of one body.
const maxChunkOverhead = 8 << 10

type chunkState uint8

const (
	chunkSize chunkState = iota
	chunkExtension
	chunkSizeLF
	chunkDataCR // after the data
	chunkDataLF
	trailerStart // of a line
	trailerName
	trailerValue
	trailerLF
	trailerEndLF
)

type chunkEvent uint8

const (
	chunkMore    chunkEvent = iota // all was used, and more is needed
	chunkBegins                    // size bytes of data follow
	chunksEnd                      // the body is over
	chunksBroken                   // this is no chunked body
)

// parse uses up b to the next event. After chunkBegins, the size bytes of data are the caller's to take.
func (r *chunkReader) parse(b []byte) (used int, event chunkEvent) {
	for i, c := range b {
		switch r.state {
		case chunkSize:
			d := hexValue(c)
			switch {
			case d >= 0 && r.digits < 15: // 60 bits: no overflow
				r.size = r.size<<4 | int64(d)
				r.digits++
			case r.digits == 0:
				return i, chunksBroken
			case c == '\r':
				r.state = chunkSizeLF
			case c == ';':
				r.state = chunkExtension
			default:
				return i, chunksBroken
			}
		case chunkExtension:
			if r.overhead++; r.overhead > maxChunkOverhead {
				return i, chunksBroken
			}
			switch {
			case c == '\r':
				r.state = chunkSizeLF
			case c < ' ' && c != '\t' || c == 0x7f:
				return i, chunksBroken
			}
		case chunkSizeLF:
			if c != '\n' {
				return i, chunksBroken
			}
			r.digits = 0
			if r.size > 0 {
				r.state = chunkDataCR
				return i + 1, chunkBegins
			}
			r.state = trailerStart
		case chunkDataCR:
			if c != '\r' {
				return i, chunksBroken
			}
			r.state = chunkDataLF
		case chunkDataLF:
			if c != '\n' {
				return i, chunksBroken
			}
			r.state, r.size = chunkSize, 0
		case trailerStart, trailerName, trailerValue, trailerLF:
			if r.overhead++; r.overhead > maxChunkOverhead || !r.trailer(c) {
				return i, chunksBroken
			}
		case trailerEndLF:
			if c != '\n' {
				return i, chunksBroken
			}
			return i + 1, chunksEnd
		}
	}
	return len(b), chunkMore
}

// trailer takes one byte of the trailer's lines.
func (r *chunkReader) trailer(c byte) bool {
	switch r.state {
	case trailerStart:
		if c == '\r' {
			r.state = trailerEndLF
			return true
		}
		r.state = trailerName
		return octets.Token[c] != 0
	case trailerName:
		if c == ':' {
			r.state = trailerValue
			return true
		}
		return octets.Token[c] != 0
	case trailerValue:
		if c == '\r' {
			r.state = trailerLF
			return true
		}
		return c >= ' ' && c != 0x7f || c == '\t'
	default:
		r.state = trailerStart
		return c == '\n'
	}
}

func hexValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
