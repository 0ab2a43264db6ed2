package record

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// maxLine bounds a line in bytes; a longer one is passed over as unreadable.
const maxLine = 64 << 10

// Lines reads a text line by line, plain or gzip, whichever it is, in memory that does not depend on it.
type Lines struct {
	b      *bufio.Reader
	number int
}

// NewLines returns the lines of r.
func NewLines(r io.Reader) (*Lines, error) {
	b := bufio.NewReaderSize(r, maxLine)
	if magic, _ := b.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, err
		}
		b = bufio.NewReaderSize(z, maxLine)
	}
	return &Lines{b: b}, nil
}

// ErrLongLine is returned for a line above 64 KiB. The next one can be read.
var ErrLongLine = errors.New("it is longer than 64 KiB")

// Next returns a line without its end, valid until the next call. At the end of the text it is io.EOF; a last line
// that has no end is one. Where gzip is cut or damaged it is another error, and the line that it broke off in is not returned.
func (l *Lines) Next() ([]byte, error) {
	l.number++
	line, err := l.b.ReadSlice('\n')
	switch {
	case err == nil:
		line = line[:len(line)-1]
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		return line, nil
	case errors.Is(err, bufio.ErrBufferFull):
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = l.b.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, ErrLongLine
	case errors.Is(err, io.EOF) && len(line) > 0:
		return line, nil
	}
	return nil, err
}

// Number is the last line's number, from 1.
func (l *Lines) Number() int { return l.number }
