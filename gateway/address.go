package gateway

import (
	"fmt"
	"net/netip"
	"strings"
	"unsafe"

	"github.com/valyala/fasthttp"
)

// trustedProxies are the peers whose word about the client is believed. It is immutable; nil and empty
// ones trust nobody.
type trustedProxies struct{ nets []netip.Prefix }

// parseTrustedProxies reads CIDRs and single addresses.
func parseTrustedProxies(list []string) (*trustedProxies, error) {
	t := &trustedProxies{}
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			a, addrErr := netip.ParseAddr(s)
			if addrErr != nil {
				return nil, fmt.Errorf("cannot read server.trusted_proxies: %q is neither an address nor a CIDR such as \"10.0.0.0/8\"", s)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
		}
		t.nets = append(t.nets, p.Masked())
	}
	return t, nil
}

// trusts says that a is one of them.
func (t *trustedProxies) trusts(a netip.Addr) bool {
	if t == nil || len(t.nets) == 0 || !a.IsValid() {
		return false
	}
	a = a.Unmap()
	for _, p := range t.nets {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// peerOf is the address at the other end of ctx's connection; invalid if it has none.
func peerOf(ctx *fasthttp.RequestCtx) netip.Addr {
	if c, ok := ctx.Conn().(*clientConn); ok {
		return c.peer
	}
	return peerAddress(ctx.Conn())
}

// clientAddress is whose request it is: the peer, or, if the peer is trusted, the last address of
// X-Forwarded-For that is not: each proxy appends whom it has seen, so what stands left of the first
// stranger from the right is that stranger's own word. An entry that is no address ends the search at
// the proxy that passed it on.
func (t *trustedProxies) clientAddress(peer netip.Addr, h *fasthttp.RequestHeader) netip.Addr {
	if !t.trusts(peer) {
		return peer
	}
	client := peer
	lines := h.PeekAll(fasthttp.HeaderXForwardedFor)
	for i := len(lines) - 1; i >= 0; i-- {
		rest := unsafe.String(unsafe.SliceData(lines[i]), len(lines[i]))
		for rest != "" {
			entry := rest
			if comma := strings.LastIndexByte(rest, ','); comma >= 0 {
				rest, entry = rest[:comma], rest[comma+1:]
			} else {
				rest = ""
			}
			a, ok := forwardedAddress(strings.Trim(entry, " \t"))
			if !ok {
				return client
			}
			client = a
			if !t.trusts(a) {
				return client
			}
		}
	}
	return client
}

// forwardedAddress reads "1.2.3.4", "1.2.3.4:567", "2001:db8::1" and "[2001:db8::1]:567".
func forwardedAddress(s string) (netip.Addr, bool) {
	if len(s) == 0 || len(s) > 64 || strings.IndexByte(s, '%') >= 0 {
		return netip.Addr{}, false // zones mean something only on the machine that wrote them
	}
	switch {
	case s[0] == '[':
		end := strings.IndexByte(s, ']')
		if end < 0 || end+1 < len(s) && (s[end+1] != ':' || !isPort(s[end+2:])) {
			return netip.Addr{}, false
		}
		s = s[1:end]
	case strings.Count(s, ":") == 1:
		host, port, _ := strings.Cut(s, ":")
		if !isPort(port) {
			return netip.Addr{}, false
		}
		s = host
	}
	a, err := netip.ParseAddr(s)
	return a.Unmap(), err == nil
}

func isPort(s string) bool {
	if len(s) == 0 || len(s) > 5 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// addressKey is what addresses are counted by: an IPv4 address whole, of an IPv6 address the /64, since
// one subscriber has at least that many.
func addressKey(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return a
	}
	p, _ := a.Prefix(64) // fails only beyond 128 bits
	return p.Addr()
}
