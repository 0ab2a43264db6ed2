package upstream

import (
	"bytes"
	"net"
	"net/netip"
	"strconv"
	"sync"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/octets"
)

// Head is what the caller of Forward has to say about the head of the request.
type Head struct {
	Trusted bool    // the peer's own X-Forwarded headers are to be believed
	Drop    Dropper // says which headers end here besides those that always do; nil: none
	More    []byte  // header lines to add, each with its CRLF
}

// Dropper says which header lines of a request are not passed on.
type Dropper interface {
	// Drops is asked for the lines in order; n counts them from 0.
	Drops(n int, name []byte) bool
}

// wire is room to build the head of a request in. It is pooled.
type wire struct {
	head  []byte
	via   []byte // what earlier hops have said
	chain []byte // of X-Forwarded-For
	named []byte // the values of Connection, with commas between
}

var wires = sync.Pool{New: func() any { return &wire{head: make([]byte, 0, 4<<10)} }}

func (w *wire) release() {
	if cap(w.head) <= 64<<10 {
		wires.Put(w)
	}
}

// build writes the head of the request for a target into w.head, from the lines as they were received:
// what ends at this hop is left out, framing is that of size, the length of the body, or below 0 for
// chunks, and what this hop has to say comes last.
func (w *wire) build(ctx *fasthttp.RequestCtx, size int, head *Head, authority string) {
	h := &ctx.Request.Header
	b := append(w.head[:0], h.Method()...)
	b = append(b, ' ')
	uri := h.RequestURI()
	if len(uri) > 0 && uri[0] != '/' && uri[0] != '*' {
		// The absolute form is for proxies; a target gets the origin form.
		uri = ctx.URI().RequestURI()
	}
	b = append(b, uri...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	host := h.Host()
	if len(host) > 0 {
		b = append(b, host...)
	} else {
		b = append(b, authority...)
	}
	b = append(b, '\r', '\n')

	w.via, w.chain, w.named = w.via[:0], w.chain[:0], w.named[:0]
	raw := h.RawHeaders()
	if len(h.PeekCanonical(hConnection)) > 0 || h.ConnectionClose() {
		w.named = appendNamed(w.named, raw)
	}
	proto, forwardedHost := false, false
	for n := 0; len(raw) > 0; n++ {
		line := raw
		if i := bytes.IndexByte(raw, '\n'); i >= 0 {
			line, raw = raw[:i+1], raw[i+1:]
		} else {
			raw = nil
		}
		colon := bytes.IndexByte(line, ':')
		if colon <= 0 {
			continue // the empty line at the end
		}
		name := line[:colon]
		if head.Drop != nil && head.Drop.Drops(n, name) {
			continue
		}
		switch fieldOf(name) {
		case fieldHop:
			continue
		case fieldVia:
			w.via = appendValue(w.via, line[colon+1:])
			continue
		case fieldHearsay:
			if !head.Trusted {
				continue
			}
		case fieldForwardedFor:
			if head.Trusted {
				w.chain = appendValue(w.chain, line[colon+1:])
			}
			continue
		case fieldForwardedProto:
			if !head.Trusted || proto {
				continue
			}
			proto = true
		case fieldForwardedHost:
			if !head.Trusted || forwardedHost {
				continue
			}
			forwardedHost = true
		}
		if len(w.named) > 0 && isNamed(w.named, name) && !protected(name) {
			continue
		}
		b = append(b, line...)
	}
	switch {
	case size > 0 || size == 0 && wantsLength(h):
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(size), 10)
		b = append(b, '\r', '\n')
	case size < 0:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	b = append(b, "Via: "...)
	b = append(b, w.via...)
	b = append(b, "1.1 tidegate\r\nX-Forwarded-For: "...)
	b = append(b, w.chain...)
	b = appendPeer(b, ctx.RemoteAddr())
	b = append(b, '\r', '\n')
	if !proto {
		if ctx.IsTLS() {
			b = append(b, "X-Forwarded-Proto: https\r\n"...)
		} else {
			b = append(b, "X-Forwarded-Proto: http\r\n"...)
		}
	}
	if !forwardedHost && len(host) > 0 {
		b = append(b, "X-Forwarded-Host: "...)
		b = append(b, host...)
		b = append(b, '\r', '\n')
	}
	b = append(b, head.More...)
	w.head = append(b, '\r', '\n')
}

// wantsLength says that a request of this method is expected to have a body, so that having none has to
// be said.
func wantsLength(h *fasthttp.RequestHeader) bool { return h.IsPost() || h.IsPut() || h.IsPatch() }

// appendValue appends the value of a line that each hop adds to, ready for the next one.
func appendValue(dst, value []byte) []byte {
	value = bytes.Trim(value, " \t\r\n")
	if len(value) == 0 {
		return dst
	}
	dst = append(dst, value...)
	return append(dst, ',', ' ')
}

// appendNamed appends what the Connection headers name. Nothing but "close" and "keep-alive" is nothing.
func appendNamed(dst, raw []byte) []byte {
	for len(raw) > 0 {
		line := raw
		if i := bytes.IndexByte(raw, '\n'); i >= 0 {
			line, raw = raw[:i+1], raw[i+1:]
		} else {
			raw = nil
		}
		colon := bytes.IndexByte(line, ':')
		if colon != len("Connection") || !octets.EqualFold(line[:colon], "connection") {
			continue
		}
		value := bytes.Trim(line[colon+1:], " \t\r\n")
		if octets.EqualFold(value, "close") || octets.EqualFold(value, "keep-alive") {
			continue
		}
		dst = append(dst, value...)
		dst = append(dst, ',')
	}
	return dst
}

func isNamed(named, name []byte) bool {
	for len(named) > 0 {
		var one []byte
		one, named, _ = bytes.Cut(named, []byte(","))
		if one = bytes.Trim(one, " \t"); len(one) == len(name) && bytes.EqualFold(one, name) {
			return true
		}
	}
	return false
}

// dropNamed calls drop for each header that a Connection header names, but for those that carry the
// message itself or that a gateway sets: naming them must not make them disappear on the way.
func dropNamed(value []byte, drop func(name []byte)) {
	for len(value) > 0 {
		var name []byte
		name, value, _ = bytes.Cut(value, []byte(","))
		name = bytes.Trim(name, " \t")
		if len(name) > 0 && !protected(name) {
			drop(name)
		}
	}
}

func protected(name []byte) bool {
	for _, p := range [...]string{
		"host", "content-length", "transfer-encoding", "content-type", "content-encoding", "date",
		"traceparent", "tracestate", "x-request-id", "via", "set-cookie",
	} {
		if octets.EqualFold(name, p) {
			return true
		}
	}
	for _, p := range [...]string{"x-forwarded-", "x-tidegate-"} {
		if len(name) >= len(p) && octets.EqualFold(name[:len(p)], p) {
			return true
		}
	}
	return false
}

// field is what a header line is to this hop.
type field uint8

const (
	fieldEnd            field = iota // goes on to the target
	fieldHop                         // ends here, or is written anew
	fieldVia                         // each hop adds to it
	fieldHearsay                     // only a proxy can know it, and anyone can claim it
	fieldForwardedFor                // the same, and each hop adds to it
	fieldForwardedProto              // the same, and the first says it for all
	fieldForwardedHost
)

// fieldOf tells by the length first, which leaves one or two names to compare. What ends at this hop is
// in RFC 9110, 7.6.1. Expect is answered by the server itself; trailers are dropped, so they are not
// announced either, nor asked for by TE.
func fieldOf(name []byte) field {
	switch len(name) {
	case 2:
		return hop(name, "te")
	case 3:
		if octets.EqualFold(name, "via") {
			return fieldVia
		}
	case 4:
		return hop(name, "host")
	case 6:
		return hop(name, "expect")
	case 7:
		return max(hop(name, "upgrade"), hop(name, "trailer"))
	case 9:
		if octets.EqualFold(name, "forwarded") || octets.EqualFold(name, "x-real-ip") {
			return fieldHearsay
		}
	case 10:
		return max(hop(name, "connection"), hop(name, "keep-alive"))
	case 14:
		return max(hop(name, "content-length"), hop(name, "http2-settings"))
	case 15:
		if octets.EqualFold(name, "x-forwarded-for") {
			return fieldForwardedFor
		}
	case 16:
		if octets.EqualFold(name, "x-forwarded-host") {
			return fieldForwardedHost
		}
		return hop(name, "proxy-connection")
	case 17:
		if octets.EqualFold(name, "x-forwarded-proto") {
			return fieldForwardedProto
		}
		return hop(name, "transfer-encoding")
	case 19:
		return hop(name, "proxy-authorization")
	}
	return fieldEnd
}

func hop(name []byte, lower string) field {
	if octets.EqualFold(name, lower) {
		return fieldHop
	}
	return fieldEnd
}

func appendPeer(dst []byte, addr net.Addr) []byte {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		if ip, ok := netip.AddrFromSlice(tcp.IP); ok {
			return ip.Unmap().AppendTo(dst)
		}
	}
	return append(dst, "unknown"...)
}
