package upstream

import (
	"bytes"
	"net"
	"net/netip"
	"sync"

	"github.com/valyala/fasthttp"
)

// Header names as fasthttp normalises them.
var (
	hConnection     = []byte("Connection")
	hForwardedFor   = []byte("X-Forwarded-For")
	hForwardedProto = []byte("X-Forwarded-Proto")
	hForwardedHost  = []byte("X-Forwarded-Host")
	hVia            = []byte("Via")
	http11          = []byte("HTTP/1.1")
)

// hopByHop end at this hop, whoever names them (RFC 9110, 7.6.1), in a request. Expect is answered by
// the server itself; trailers are dropped, so they are not announced either, nor asked for by TE.
var hopByHop = [][]byte{
	[]byte("Keep-Alive"), []byte("Proxy-Connection"), []byte("Te"), []byte("Trailer"), []byte("Upgrade"),
	[]byte("Proxy-Authorization"), []byte("Expect"), []byte("Http2-Settings"),
}

// hearsay is what only a proxy can know of the client, and anyone can claim.
var hearsay = [][]byte{[]byte("Forwarded"), []byte("X-Real-Ip")}

// wire is room to build the head of a request in. It is pooled.
type wire struct {
	head []byte
	more []byte // header lines of our own
}

var wires = sync.Pool{New: func() any { return &wire{head: make([]byte, 0, 4<<10)} }}

func (w *wire) release() {
	if cap(w.head) <= 64<<10 && cap(w.more) <= 64<<10 {
		wires.Put(w)
	}
}

// build writes the head of the request for a target into w.head. The header of ctx's request is
// changed for it: what ends at this hop is gone, and its framing is that of size, the length of its
// body, or below 0 for chunks.
func (w *wire) build(ctx *fasthttp.RequestCtx, size int, trusted bool, authority string) {
	h := &ctx.Request.Header
	more := w.more[:0]
	more = appendChain(more, h, hVia, "1.1 tidegate", true)
	more = appendForwarded(more, ctx, trusted)
	w.more = more

	scrubRequest(h, trusted)
	if size >= 0 {
		// Also where the length is the one that stood there: it may be written in some odd way.
		if size > 0 || h.ContentLength() != -2 {
			h.SetContentLength(size)
		}
	} else {
		h.SetContentLength(-1)
	}
	h.SetNoDefaultContentType(true)
	if !h.IsHTTP11() {
		h.SetProtocolBytes(http11)
	}
	if len(h.Host()) == 0 {
		h.SetHost(authority)
	}
	if uri := h.RequestURI(); len(uri) > 0 && uri[0] != '/' && uri[0] != '*' {
		// The absolute form is for proxies; a target gets the origin form.
		h.SetRequestURIBytes(ctx.URI().RequestURI())
	}
	head := h.AppendBytes(w.head[:0])
	head = append(head[:len(head)-2], more...) // before the empty line
	w.head = append(head, '\r', '\n')
}

func scrubRequest(h *fasthttp.RequestHeader, trusted bool) {
	if len(h.PeekCanonical(hConnection)) > 0 {
		for _, v := range h.PeekAll("Connection") {
			dropNamed(v, func(name []byte) {
				h.DelBytes(name)
			})
		}
		h.DelBytes(hConnection)
	}
	h.ResetConnectionClose()
	for _, name := range hopByHop {
		if len(h.PeekCanonical(name)) > 0 {
			h.DelBytes(name)
		}
	}
	if !trusted {
		for _, name := range hearsay {
			if len(h.PeekCanonical(name)) > 0 {
				h.DelBytes(name)
			}
		}
	}
}

// dropNamed calls drop for each header that a Connection header names, but for those that carry the
// message itself or that a gateway sets: naming them must not make them disappear on the way.
func dropNamed(value []byte, drop func(name []byte)) {
	for len(value) > 0 {
		var name []byte
		name, value, _ = bytes.Cut(value, []byte(","))
		name = bytes.Trim(name, " \t")
		if len(name) > 0 && !equalFold(name, "close") && !equalFold(name, "keep-alive") && !protected(name) {
			drop(name)
		}
	}
}

func protected(name []byte) bool {
	for _, p := range [...]string{
		"Host", "Content-Length", "Transfer-Encoding", "Content-Type", "Content-Encoding", "Date",
		"Traceparent", "Tracestate", "X-Request-Id", "Via", "Set-Cookie",
	} {
		if equalFold(name, p) {
			return true
		}
	}
	for _, p := range [...]string{"X-Forwarded-", "X-Tidegate-"} {
		if len(name) >= len(p) && equalFold(name[:len(p)], p) {
			return true
		}
	}
	return false
}

func equalFold(b []byte, s string) bool {
	return len(b) == len(s) && bytes.EqualFold(b, []byte(s))
}

// appendChain appends a header line to which each hop adds: what h has of it, if keep says so, and
// then add. It takes it out of h.
func appendChain(dst []byte, h *fasthttp.RequestHeader, name []byte, add string, keep bool) []byte {
	dst = openChain(dst, h, name, keep)
	dst = append(dst, add...)
	return append(dst, '\r', '\n')
}

func openChain(dst []byte, h *fasthttp.RequestHeader, name []byte, keep bool) []byte {
	dst = append(dst, name...)
	dst = append(dst, ':', ' ')
	if len(h.PeekCanonical(name)) == 0 {
		return dst
	}
	if keep {
		for _, v := range h.PeekAll(string(name)) {
			if len(v) > 0 {
				dst = append(dst, v...)
				dst = append(dst, ',', ' ')
			}
		}
	}
	h.DelBytes(name)
	return dst
}

// appendForwarded appends the X-Forwarded lines: the peer's address at the end of the chain, or alone
// if the peer is nobody whose word counts.
func appendForwarded(dst []byte, ctx *fasthttp.RequestCtx, trusted bool) []byte {
	h := &ctx.Request.Header
	dst = openChain(dst, h, hForwardedFor, trusted)
	dst = appendPeer(dst, ctx.RemoteAddr())
	dst = append(dst, '\r', '\n')

	if !trusted || len(h.PeekCanonical(hForwardedProto)) == 0 {
		if len(h.PeekCanonical(hForwardedProto)) > 0 {
			h.DelBytes(hForwardedProto)
		}
		if ctx.IsTLS() {
			dst = append(dst, "X-Forwarded-Proto: https\r\n"...)
		} else {
			dst = append(dst, "X-Forwarded-Proto: http\r\n"...)
		}
	}
	if !trusted || len(h.PeekCanonical(hForwardedHost)) == 0 {
		if len(h.PeekCanonical(hForwardedHost)) > 0 {
			h.DelBytes(hForwardedHost)
		}
		if host := h.Host(); len(host) > 0 {
			dst = append(dst, "X-Forwarded-Host: "...)
			dst = append(dst, host...)
			dst = append(dst, '\r', '\n')
		}
	}
	return dst
}

func appendPeer(dst []byte, addr net.Addr) []byte {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		if ip, ok := netip.AddrFromSlice(tcp.IP); ok {
			return ip.Unmap().AppendTo(dst)
		}
	}
	return append(dst, "unknown"...)
}
