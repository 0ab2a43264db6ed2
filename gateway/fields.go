package gateway

import (
	"bytes"

	"tidegate/gateway/octets"
)

// fieldTable lists the headers that the gateway itself reads. One pass over a request's header finds
// them all; what is looked for by name afterwards costs nothing. It is immutable.
type fieldTable struct {
	fields   []field
	byLength [64][]uint8 // places of the names of n bytes; those of 63 and more are together
}

// field is one header that the gateway reads.
type field struct {
	name string // lower case
	once bool   // twice is an error: the gateway and whoever reads the log could believe different ones
	drop bool   // meant for the gateway, and not passed on
}

// The headers that are read whatever the configuration says; those of [identify] follow.
const (
	fieldMaxWait = iota
	fieldTicket
	fieldRequestID
	fieldTraceparent
	fieldTracestate
	fieldAuthorization
	fixedFields
)

const mostFields = 16 // those above and the places of [identify]

// ownPrefix begins the names of headers that only the gateway sets.
const ownPrefix = "x-tidegate-"

// fieldValues are the values in one request, by their place in the table; they lie in the header's own
// bytes.
type fieldValues struct {
	values [mostFields][]byte // of those that were seen
	seen   uint32             // bit i: field i is there
	drop   uint64             // bit n: line n ends at the gateway
}

// of is the value of field i, nil if it is not there.
func (v *fieldValues) of(i int) []byte {
	if v.seen>>i&1 == 0 {
		return nil
	}
	return v.values[i]
}

func newFieldTable() *fieldTable {
	t := &fieldTable{}
	for _, f := range []field{
		fieldMaxWait:       {"x-max-wait", true, true},
		fieldTicket:        {"x-queue-ticket", true, true},
		fieldRequestID:     {"x-request-id", false, true},
		fieldTraceparent:   {"traceparent", false, true},
		fieldTracestate:    {"tracestate", false, false},
		fieldAuthorization: {"authorization", false, false},
	} {
		t.add(f)
	}
	return t
}

// add gives the place of a field in the table; a name that is there already keeps its place, and gets
// what f asks for besides.
func (t *fieldTable) add(f field) int {
	if i := t.index([]byte(f.name)); i >= 0 {
		t.fields[i].once = t.fields[i].once || f.once
		t.fields[i].drop = t.fields[i].drop || f.drop
		return i
	}
	t.fields = append(t.fields, f)
	n := min(len(f.name), len(t.byLength)-1)
	t.byLength[n] = append(t.byLength[n], uint8(len(t.fields)-1))
	return len(t.fields) - 1
}

// read finds the fields in a raw header after its request line, which headerScan has checked. It returns
// the name of the first one that may be there once and is there twice, or "". Of a field that may be
// repeated the first value counts.
func (t *fieldTable) read(raw []byte, values *fieldValues) (twice string) {
	values.seen, values.drop = 0, 0
	for n := 0; len(raw) > 0; n++ {
		line := raw
		if i := bytes.IndexByte(raw, '\n'); i >= 0 {
			line, raw = raw[:i], raw[i+1:]
		} else {
			raw = nil
		}
		colon := bytes.IndexByte(line, ':')
		if colon < 0 {
			continue
		}
		name := line[:colon]
		i := t.index(name)
		if i < 0 {
			if own(name) && n < 64 {
				values.drop |= 1 << n
			}
			continue
		}
		if t.fields[i].drop && n < 64 {
			values.drop |= 1 << n
		}
		if values.seen>>i&1 == 0 {
			values.seen |= 1 << i
			values.values[i] = octets.Trim(bytes.TrimSuffix(line[colon+1:], []byte{'\r'}))
		} else if t.fields[i].once {
			return t.fields[i].name
		}
	}
	return ""
}

// own says that a header is one that only the gateway sets. An underscore counts as a dash: where headers
// become variables, as in CGI and what descends from it, both names become the same one.
func own(name []byte) bool {
	if len(name) < len(ownPrefix) || name[0]|0x20 != 'x' || name[2]|0x20 != 't' {
		return false
	}
	for i, c := range name[:len(ownPrefix)] {
		if c == '_' {
			c = '-'
		} else if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != ownPrefix[i] {
			return false
		}
	}
	return true
}

// drops says that line n of the header that values were read from, of this name, ends at the gateway.
func (t *fieldTable) drops(values *fieldValues, n int, name []byte) bool {
	if n < 64 {
		return values.drop>>n&1 != 0
	}
	if own(name) {
		return true
	}
	i := t.index(name)
	return i >= 0 && t.fields[i].drop
}

func (t *fieldTable) index(name []byte) int {
	for _, i := range t.byLength[min(len(name), len(t.byLength)-1)] {
		if octets.EqualFold(name, t.fields[i].name) {
			return int(i)
		}
	}
	return -1
}
