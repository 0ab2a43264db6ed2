package record

import (
	"bytes"
	"errors"
	"strconv"
	"time"
)

// Record is one request of a trace.
type Record struct {
	At           int64 // arrival, milliseconds since 1970
	Caller, Type string
	Size         int64 // bytes; -1: the trace does not say
	// Traces of four columns have none of what follows, and Full is false.
	Full    bool
	Route   string
	Tenant  string // its hash
	Cost    int64
	Seat    time.Duration
	Outcome string // with its code: "refused:queue_full"
}

// Append appends the record as a line of nine columns.
func (r *Record) Append(dst []byte) []byte {
	dst = strconv.AppendInt(dst, r.At, 10)
	dst = append(dst, ',')
	dst = appendField(dst, r.Caller)
	dst = append(dst, ',')
	dst = appendField(dst, r.Type)
	dst = append(dst, ',')
	if r.Size >= 0 {
		dst = strconv.AppendInt(dst, r.Size, 10)
	}
	dst = append(dst, ',')
	dst = appendField(dst, r.Route)
	dst = append(dst, ',')
	dst = appendField(dst, r.Tenant)
	dst = append(dst, ',')
	dst = strconv.AppendInt(dst, r.Cost, 10)
	dst = append(dst, ',')
	dst = appendSeat(dst, r.Seat)
	dst = append(dst, ',')
	dst = appendField(dst, r.Outcome)
	return append(dst, '\n')
}

const (
	columnsLeast = 4
	columnsOurs  = 9
	maxName      = 1 << 10 // bytes of any text in a trace
)

// parser reads lines. Names are kept once each, since a trace has few of them and millions of lines.
type parser struct {
	names  map[string]string
	space  []byte // for fields in quotes
	fields [columnsOurs][]byte
}

// maxNames bounds what is kept of traces with a name for each line.
const maxNames = 1 << 16

func (p *parser) name(b []byte) string {
	if s, ok := p.names[string(b)]; ok {
		return s
	}
	if p.names == nil || len(p.names) >= maxNames {
		p.names = make(map[string]string)
	}
	s := string(b)
	p.names[s] = s
	return s
}

// isHeader says that a line names the columns. It may stand anywhere: files are put together with cat.
func isHeader(line []byte) bool { return bytes.HasPrefix(line, []byte("timestamp_ms,")) }

// timeOf reads a line's first column.
func timeOf(line []byte) (int64, error) {
	end := bytes.IndexByte(line, ',')
	if end < 0 {
		return 0, errors.New("it has one column, not timestamp_ms,caller,type,size")
	}
	at, err := strconv.ParseInt(string(line[:end]), 10, 64)
	if err != nil {
		return 0, errors.New("timestamp_ms is no whole number of milliseconds")
	}
	return at, nil
}

// parse reads a line of four columns or of nine and more.
func (p *parser) parse(line []byte) (Record, error) {
	r := Record{Size: -1}
	at, err := timeOf(line)
	if err != nil {
		return r, err
	}
	n, err := p.split(line)
	if err != nil {
		return r, err
	}
	r.At, r.Caller, r.Type = at, p.name(p.fields[1]), p.name(p.fields[2])
	if size := p.fields[3]; len(size) > 0 {
		if r.Size, err = strconv.ParseInt(string(size), 10, 64); err != nil || r.Size < 0 {
			return r, errors.New("size is no whole number of bytes")
		}
	}
	if n < columnsOurs {
		return r, nil
	}
	r.Full = true
	r.Route, r.Tenant, r.Outcome = p.name(p.fields[4]), p.name(p.fields[5]), p.name(p.fields[8])
	if r.Cost, err = strconv.ParseInt(string(p.fields[6]), 10, 64); err != nil {
		return r, errors.New("cost is no whole number")
	}
	if r.Seat, err = parseSeat(p.fields[7]); err != nil {
		return r, err
	}
	return r, nil
}

// split finds up to nine columns and how many there are.
func (p *parser) split(line []byte) (n int, err error) {
	p.space = p.space[:0]
	for n < columnsOurs {
		field, rest, more := bytes.Cut(line, []byte{','})
		if len(field) > 0 && field[0] == '"' {
			if field, rest, more, err = p.unquote(line); err != nil {
				return n, err
			}
		}
		if len(field) > maxName {
			return n, errors.New("a column is longer than 1 KiB")
		}
		p.fields[n] = field
		n, line = n+1, rest
		if !more {
			break
		}
	}
	if n < columnsLeast {
		return n, errors.New("it has fewer columns than timestamp_ms,caller,type,size")
	}
	return n, nil
}

// unquote reads a field in quotes that the line begins with.
func (p *parser) unquote(line []byte) (field, rest []byte, more bool, err error) {
	from := len(p.space)
	for i := 1; i < len(line); i++ {
		if line[i] != '"' {
			p.space = append(p.space, line[i])
			continue
		}
		i++
		switch {
		case i == len(line):
			return p.space[from:], nil, false, nil
		case line[i] == ',':
			return p.space[from:], line[i+1:], true, nil
		case line[i] != '"':
			return nil, nil, false, errors.New("a quote ends inside of a column")
		}
		p.space = append(p.space, '"')
	}
	return nil, nil, false, errors.New("a quote is not closed")
}

// parseSeat reads milliseconds with a fraction.
func parseSeat(b []byte) (time.Duration, error) {
	whole, fraction, _ := bytes.Cut(b, []byte{'.'})
	ms, err := strconv.ParseInt(string(whole), 10, 64)
	if err != nil || ms < 0 || ms > int64(1<<63-1)/int64(time.Millisecond)-1 {
		return 0, errors.New("seat_ms is no number of milliseconds")
	}
	d := time.Duration(ms) * time.Millisecond
	unit := time.Millisecond / 10
	for _, c := range fraction {
		if c < '0' || c > '9' {
			return 0, errors.New("seat_ms is no number of milliseconds")
		}
		d += time.Duration(c-'0') * unit
		unit /= 10
	}
	return d, nil
}
