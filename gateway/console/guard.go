package console

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/valyala/fasthttp"
)

// guard knows which hosts this listener is, and whether other machines can reach it.
type guard struct {
	loopback bool
	wildcard bool // the listener has every address of the machine
	name     string
	attempts attempts
}

func newGuard(listen string) guard {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		host = listen
	}
	host = canonical(host)
	addr, err := netip.ParseAddr(host)
	if host != "" && (err != nil || !addr.IsUnspecified()) {
		return guard{loopback: isLoopback(host), name: host}
	}
	// No host is configured, so the machine's own name must do: one that a stranger cannot point
	// here, unlike that of his web site.
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return guard{wildcard: true, name: canonical(name)}
}

// canonical is a host as it is compared: lower case, without brackets, trailing dot or zone.
func canonical(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().WithZone("").String()
	}
	return host
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// knows says whether the Host header names this listener. A name that a stranger owns never does,
// even when it leads here: that is how a web page would read what only this machine may.
func (g *guard) knows(header string, local net.Addr) bool {
	host, ok := hostOf(header)
	if !ok {
		return false
	}
	if isLoopback(host) || host == g.name {
		return true
	}
	tcp, ok := local.(*net.TCPAddr)
	return ok && g.wildcard && host == canonical(tcp.IP.String())
}

// hostOf is the canonical host of "host", "host:port", "[v6]" or "[v6]:port".
func hostOf(header string) (string, bool) {
	host, port, err := net.SplitHostPort(header)
	if err != nil {
		if strings.Contains(header, ":") && !strings.HasSuffix(header, "]") {
			return "", false
		}
		host = header
	}
	if strings.Trim(port, "0123456789") != "" {
		return "", false
	}
	host = canonical(host)
	return host, host != ""
}

// meant refuses a request that was not meant for this listener, or that a web page of somebody else sends.
func (c *Console) meant(ctx *fasthttp.RequestCtx) *problem {
	if !c.guard.knows(string(ctx.Request.Header.Host()), ctx.LocalAddr()) {
		return problemHost
	}
	if fromElsewhere(ctx) {
		return problemCrossSite
	}
	return nil
}

// fromElsewhere says whether a web page of another origin sends the request. Sec-Fetch-Site says so
// for every request of a present-day browser; Origin for the writes of older ones. A page on another
// port of this machine is another origin too.
func fromElsewhere(ctx *fasthttp.RequestCtx) bool {
	h := &ctx.Request.Header
	for _, site := range h.PeekAll("Sec-Fetch-Site") {
		switch string(site) {
		case "same-origin", "none":
		default:
			return true
		}
	}
	for _, origin := range h.PeekAll("Origin") {
		scheme, host, ok := bytes.Cut(origin, []byte("://"))
		if !ok || string(scheme) != "http" && string(scheme) != "https" || !bytes.EqualFold(host, h.Host()) {
			return true
		}
	}
	return false
}

// mayWrite says whether a write is one that a web page cannot send without asking first: it has a
// content type that no plain form has. One without a body needs none if no browser sends it. A form
// always has a type, so only a script could send that, and then its browser says where it comes from.
func mayWrite(ctx *fasthttp.RequestCtx) bool {
	switch mediaType(ctx) {
	case typeJSON, typeTOML:
		return true
	case "":
		return !hasBody(ctx) && !fromBrowser(ctx)
	}
	return false
}

// fromBrowser says whether the request has a header that browsers, and hardly anybody else, set.
func fromBrowser(ctx *fasthttp.RequestCtx) bool {
	h := &ctx.Request.Header
	for _, name := range []string{"Origin", "Referer", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Cookie"} {
		if len(h.PeekAll(name)) > 0 {
			return true
		}
	}
	return false
}

// mediaType is the request's content type, in lower case and without parameters.
func mediaType(ctx *fasthttp.RequestCtx) string {
	media, _, _ := strings.Cut(string(ctx.Request.Header.ContentType()), ";")
	return strings.ToLower(strings.TrimSpace(media))
}
