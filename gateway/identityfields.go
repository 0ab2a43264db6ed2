package gateway

import "bytes"

// fieldNames is a set of header names of which a request may have each at most once: the ones that say
// who asks, for what, and how long it may wait. With two of them, the gateway and whoever reads the
// log could believe different ones. It is immutable.
type fieldNames struct {
	names   []string // lower case
	lengths uint64   // bit n: a name of n bytes is there; names of 63 and more share bit 63
}

// newFieldNames makes a set of at most 64 names, in any case.
func newFieldNames(names ...string) *fieldNames {
	f := &fieldNames{}
	for _, n := range names {
		lower := string(bytes.ToLower([]byte(n)))
		if f.index([]byte(lower)) >= 0 || len(f.names) == 64 {
			continue
		}
		f.names = append(f.names, lower)
		f.lengths |= 1 << min(len(lower), 63)
	}
	return f
}

// duplicate returns the first name that raw has more than once, or "". raw is the raw header after
// its request line, checked by headerScan.
func (f *fieldNames) duplicate(raw []byte) string {
	var seen uint64
	for len(raw) > 0 {
		line := raw
		if i := bytes.IndexByte(raw, '\n'); i >= 0 {
			line, raw = raw[:i], raw[i+1:]
		} else {
			raw = nil
		}
		colon := bytes.IndexByte(line, ':')
		if colon < 0 || f.lengths>>min(colon, 63)&1 == 0 {
			continue
		}
		if i := f.index(line[:colon]); i >= 0 {
			if seen>>i&1 != 0 {
				return f.names[i]
			}
			seen |= 1 << i
		}
	}
	return ""
}

func (f *fieldNames) index(name []byte) int {
	for i, n := range f.names {
		if equalFold(name, n) {
			return i
		}
	}
	return -1
}
