package gateway

import "bytes"

// Parameters are taken from the query as it was sent, and what remains is passed on byte for byte: an
// upstream may care how its own parameters are written.

// queryValue is the value of the first parameter of that name in a request target, decoded; nil if
// there is none. The name is compared after decoding, so that nothing is missed that the upstream
// would see.
func queryValue(target []byte, name string) []byte {
	var value []byte
	eachParameter(target, func(pair []byte) bool {
		key, v, _ := bytes.Cut(pair, []byte("="))
		if string(decoded(key)) == name {
			value = decoded(v)
			return false
		}
		return true
	})
	return value
}

// repeated says that a request target has more than one parameter of that name: the gateway and whoever
// reads the log could believe different ones.
func repeated(target []byte, name string) bool {
	n := 0
	eachParameter(target, func(pair []byte) bool {
		key, _, _ := bytes.Cut(pair, []byte("="))
		if string(decoded(key)) == name {
			n++
		}
		return n < 2
	})
	return n > 1
}

// withoutQuery is the target without any parameter of that name, and whether there was one.
func withoutQuery(target []byte, name string) (rest []byte, cut bool) {
	at := bytes.IndexByte(target, '?')
	if at < 0 {
		return target, false
	}
	rest = append(rest, target[:at]...)
	mark := byte('?')
	eachParameter(target, func(pair []byte) bool {
		key, _, _ := bytes.Cut(pair, []byte("="))
		if string(decoded(key)) == name {
			cut = true
			return true
		}
		rest = append(append(rest, mark), pair...)
		mark = '&'
		return true
	})
	if !cut {
		return target, false
	}
	return rest, true
}

func eachParameter(target []byte, do func(pair []byte) bool) {
	at := bytes.IndexByte(target, '?')
	if at < 0 {
		return
	}
	query := target[at+1:]
	for {
		pair, rest, more := bytes.Cut(query, []byte("&"))
		if !do(pair) || !more {
			return
		}
		query = rest
	}
}

// decoded undoes the escapes of a query; a broken one stays as it is.
func decoded(b []byte) []byte {
	if bytes.IndexByte(b, '%') < 0 && bytes.IndexByte(b, '+') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '+':
			out = append(out, ' ')
		case b[i] == '%' && i+2 < len(b) && hexValue(b[i+1]) >= 0 && hexValue(b[i+2]) >= 0:
			out = append(out, byte(hexValue(b[i+1])<<4|hexValue(b[i+2])))
			i += 2
		default:
			out = append(out, b[i])
		}
	}
	return out
}
