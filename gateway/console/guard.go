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

// admit lets a request in, and says as whom, or says why not.
func (c *Console) admit(ctx *fasthttp.RequestCtx) (visitor, *problem) {
	if !c.guard.knows(string(ctx.Request.Header.Host()), ctx.LocalAddr()) {
		return visitor{}, problemHost
	}
	if fromElsewhere(ctx) {
		return visitor{}, problemCrossSite
	}
	return c.authenticate(ctx)
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

// writableType says whether a write has a content type that a web page cannot send without asking
// first: a plain form has none of these.
func writableType(contentType []byte) bool {
	media, _, _ := strings.Cut(string(contentType), ";")
	switch strings.ToLower(strings.TrimSpace(media)) {
	case "application/json", "application/toml":
		return true
	}
	return false
}
