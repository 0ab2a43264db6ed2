package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// validName says whether a name may be a metric label, part of a rule's id and the name of a RateLimit
// policy without any escaping.
func validName(s string) bool {
	return len(s) >= 1 && len(s) <= 64 && only(s, "abcdefghijklmnopqrstuvwxyz0123456789._-")
}

// validCallerID is wider than validName: ids come from the books of the business.
func validCallerID(s string) bool {
	return len(s) >= 1 && len(s) <= 128 &&
		only(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@-")
}

func only(s, allowed string) bool {
	for i := range len(s) {
		if strings.IndexByte(allowed, s[i]) < 0 {
			return false
		}
	}
	return true
}

// ParseHash reads the sha256 of a key or a token: 64 hex digits, with or without "sha256:" before them.
func ParseHash(s string) (sum [32]byte, err error) {
	digits := strings.TrimPrefix(s, "sha256:")
	if len(digits) != 2*len(sum) {
		return sum, fmt.Errorf("a sha256 has 64 hex digits, this has %d characters", len(digits))
	}
	if _, err := hex.Decode(sum[:], []byte(digits)); err != nil {
		return [32]byte{}, errors.New("not a sha256: there is something else than hex digits in it")
	}
	return sum, nil
}

// Place is where a request carries something.
type Place struct {
	Kind string // "header" | "query" | "bearer"
	Name string // of the header or the parameter; "" for bearer
}

// ParsePlace reads "header:NAME", "query:NAME" or "bearer" (Authorization: Bearer ...).
func ParsePlace(s string) (Place, error) {
	kind, name, named := strings.Cut(s, ":")
	switch {
	case s == "bearer":
		return Place{Kind: "bearer"}, nil
	case !named || kind != "header" && kind != "query":
		return Place{}, errors.New(`a place is "header:NAME" or "query:NAME"; a key may also come as "bearer"`)
	case !isToken(name) || len(name) > 128:
		return Place{}, fmt.Errorf("not the name of a %s", kind)
	case kind == "header" && reserved(name):
		return Place{}, fmt.Errorf("the header %s has a meaning of its own and cannot carry this", name)
	}
	return Place{Kind: kind, Name: name}, nil
}

// reserved says whether a header frames the message, or is the gateway's own word. What carries a key or
// a tag is taken off before the upstream, which none of these would survive.
func reserved(name string) bool {
	switch n := strings.ToLower(name); n {
	case "host", "connection", "content-length", "transfer-encoding", "content-type", "content-encoding",
		"upgrade", "te", "trailer", "expect", "keep-alive", "authorization", "proxy-authorization",
		"x-max-wait", "x-queue-ticket", "x-request-id", "x-forwarded-for", "traceparent", "tracestate":
		return true
	default:
		return strings.HasPrefix(n, "x-tidegate-")
	}
}

// isToken says whether s is a token of HTTP: what a method or a header's name is made of.
func isToken(s string) bool {
	return s != "" && only(s, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
}

// parseListen checks "host:port" and says whether only this machine can reach it.
func parseListen(s string) (loopback bool, err error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return false, errors.New(`not an address to listen on; write it like "127.0.0.1:8080", or ":8080" for every interface`)
	}
	if n, err := count(port); err != nil || n > 65535 {
		return false, errors.New("a port is a number from 0 to 65535")
	}
	if host == "localhost" {
		return true, nil
	}
	if host == "" {
		return false, nil
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return false, errors.New("the host of a listen address is an IP address or localhost")
	}
	return addr.Unmap().IsLoopback(), nil
}

// parsePrefix reads a CIDR or a single address.
func parsePrefix(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil && addr.Zone() == "" {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return p, errors.New(`not an address range; write it like "10.0.0.0/8" or "192.0.2.7"`)
	}
	if p != p.Masked() {
		return p, fmt.Errorf("the address has bits outside its range; the range is %q, the single address %q", p.Masked(), p.Addr())
	}
	return p, nil
}

// Prefixes are the trusted proxies as address ranges.
func (s Server) Prefixes() []netip.Prefix {
	var list []netip.Prefix
	for _, text := range s.TrustedProxies {
		if p, err := parsePrefix(text); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// Location is the calendar's zone. The error cannot happen on a loaded configuration while the zone files
// of the machine stay.
func (t Time) Location() (*time.Location, error) { return time.LoadLocation(t.Zone) }

// StateDir is state.dir, relative ones taken from the place of the configuration file.
func (c *Config) StateDir() string { return c.beside(c.State.Dir) }

// AlertSecretFile is alerts.secret_file, a relative one taken from the place of the configuration file; "" where
// payloads are not signed.
func (c *Config) AlertSecretFile() string {
	if c.Alerts.SecretFile == "" {
		return ""
	}
	return c.beside(c.Alerts.SecretFile)
}

// RecordDir is record.dir, relative ones taken from the place of the configuration file; "" is off.
func (c *Config) RecordDir() string {
	if c.Record.Dir == "" {
		return ""
	}
	return c.beside(c.Record.Dir)
}

func (c *Config) beside(dir string) string {
	if filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(filepath.Dir(c.File), dir)
}

// checkTarget checks where an upstream is said to be.
func checkTarget(s string) error {
	if rest, ok := strings.CutPrefix(s, "builtin:"); ok {
		if rest != "sample" {
			return errors.New(`the only upstream inside the binary is "builtin:sample"`)
		}
		return nil
	}
	u, err := url.Parse(s)
	switch {
	case err == nil && u.Scheme == "https":
		return errors.New("https to an upstream is not built yet; write http://host:port")
	case err != nil || u.Scheme != "http" || u.Hostname() == "":
		return errors.New(`not an upstream's address; write it like "http://10.0.0.5:8080"`)
	case u.User != nil:
		return errors.New("a user or password cannot stand in an upstream's address")
	case u.Path != "" || u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#"):
		return fmt.Errorf("an upstream's address has no path: requests keep theirs; write %q", "http://"+u.Host)
	}
	if !validHost(u.Host[:len(u.Host)-len(portOf(u))]) {
		return errors.New("not the name or address of a host")
	}
	if port := portOf(u); port != "" {
		if n, err := strconv.Atoi(port[1:]); err != nil || n < 1 || n > 65535 {
			return errors.New("a port is a number from 1 to 65535")
		}
	}
	return nil
}

// portOf is the port of a URL with the colon before it; "" for none.
func portOf(u *url.URL) string {
	if strings.HasSuffix(u.Host, ":"+u.Port()) {
		return ":" + u.Port()
	}
	return ""
}

// validHost says whether s is a host name or an address, without a port; IPv6 stands in brackets.
func validHost(s string) bool {
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		addr, err := netip.ParseAddr(s[1 : len(s)-1])
		return err == nil && addr.Is6() && addr.Zone() == ""
	}
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") ||
			!only(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789_-") {
			return false
		}
	}
	return true
}
