package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// framing is how the end of an answer's body is known.
type framing uint8

const (
	byLength framing = iota
	byChunks
	byClose
)

// maxTrailer bounds what may follow the last chunk. Trailers are read and dropped.
const maxTrailer = 16 << 10

var (
	errChunk   = errors.New("malformed chunk")
	errTrailer = errors.New("trailer section too long")
)

// body reads the body of an answer, and ends with io.EOF where its framing says so. A connection that
// ends before is io.ErrUnexpectedEOF.
type body struct {
	br   *bufio.Reader
	kind framing
	left int64 // of the body, or of the chunk
	open bool  // byChunks: a chunk has been read whole and its CRLF has not
	end  bool
}

// Read gives what is there and does not wait for more than one byte.
func (b *body) Read(p []byte) (int, error) {
	if b.end {
		return 0, io.EOF
	}
	if b.kind == byChunks && b.left == 0 {
		if err := b.nextChunk(); err != nil {
			return 0, err
		}
	}
	if b.kind != byClose {
		if b.left == 0 {
			b.end = true
			return 0, io.EOF
		}
		p = p[:min(int64(len(p)), b.left)]
	}
	n, err := b.br.Read(p)
	if b.kind == byClose {
		b.end = err == io.EOF
		return n, err
	}
	b.left -= int64(n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if b.left == 0 && b.kind == byLength && err == nil {
		b.end = true
		err = io.EOF
	}
	b.open = b.kind == byChunks
	return n, err
}

// nextChunk reads up to the first byte of the next chunk; left is 0 after the last one.
func (b *body) nextChunk() error {
	if b.open {
		line, err := b.line()
		if err != nil {
			return err
		}
		if len(line) != 0 {
			return errChunk
		}
		b.open = false
	}
	line, err := b.line()
	if err != nil {
		return err
	}
	size, ok := chunkSize(line)
	if !ok {
		return errChunk
	}
	b.left = size
	if size > 0 {
		return nil
	}
	for room := maxTrailer; ; {
		if line, err = b.line(); err != nil || len(line) == 0 {
			return err
		}
		if room -= len(line); room < 0 {
			return errTrailer
		}
	}
}

// line reads a line that ends in CRLF, and gives it without.
func (b *body) line() ([]byte, error) {
	line, err := b.br.ReadSlice('\n')
	switch {
	case err == bufio.ErrBufferFull:
		return nil, errChunk
	case err == io.EOF:
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	case len(line) < 2 || line[len(line)-2] != '\r':
		return nil, errChunk
	}
	return line[:len(line)-2], nil
}

// chunkSize reads the size at the head of a chunk: hex digits, and perhaps extensions, which mean
// nothing here.
func chunkSize(line []byte) (int64, bool) {
	if i := bytes.IndexByte(line, ';'); i >= 0 {
		line = line[:i]
	}
	line = bytes.TrimRight(line, " \t")
	if len(line) == 0 || len(line) > 15 {
		return 0, false
	}
	var n int64
	for _, ch := range line {
		switch {
		case '0' <= ch && ch <= '9':
			ch -= '0'
		case 'a' <= ch && ch <= 'f':
			ch -= 'a' - 10
		case 'A' <= ch && ch <= 'F':
			ch -= 'A' - 10
		default:
			return 0, false
		}
		n = n<<4 | int64(ch)
	}
	return n, true
}

// wholeChunks says whether in begins with a complete chunked body without trailers. Then take has
// been called for the payload of each chunk, and size is how much of in it was. Most short chunked
// answers arrive in one packet, and need no read-ahead then.
func wholeChunks(in []byte, take func([]byte)) (size int, ok bool) {
	for size = 0; ; {
		i := bytes.IndexByte(in[size:], '\n')
		if i < 1 || in[size+i-1] != '\r' {
			return 0, false
		}
		n, ok := chunkSize(in[size : size+i-1])
		if !ok {
			return 0, false
		}
		size += i + 1
		if n > int64(len(in)-size-2) {
			return 0, false
		}
		end := size + int(n)
		if in[end] != '\r' || in[end+1] != '\n' {
			return 0, false
		}
		if n > 0 && take != nil {
			take(in[size:end])
		}
		size = end + 2
		if n == 0 {
			return size, true
		}
	}
}
