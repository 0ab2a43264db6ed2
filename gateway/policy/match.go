package policy

import (
	"bytes"
	"fmt"
	"strings"
)

// router finds a request's route. It is a tree of path segments, and at each node tables by host and method, so
// that a match costs what the path costs, however many routes there are.
type router struct {
	root       node
	hasHosts   bool // some route names a host
	maxSegment int  // bytes of the longest segment in any pattern
}

// node stands for the path from the root to it.
type node struct {
	children map[string]*node
	exact    *hostTable // routes whose path ends here
	prefix   *hostTable // routes whose path is this one and all below
	shorter  *node      // the nearest node above with a prefix
}

type hostTable struct {
	named map[string]*methodTable // by host in lower case, without port
	any   *methodTable
}

type methodTable struct {
	named map[string]*Route
	any   *Route
}

const (
	maxHost    = 255 // bytes; longer than any name in the DNS
	maxSegment = 255 // bytes of one segment of a route's path
)

// match returns the route of a request, nil if none fits. The path is a canonical one.
func (m *router) match(host, method, path []byte) *Route {
	if len(path) == 0 || path[0] != '/' {
		return nil
	}
	if m.hasHosts {
		var buf [maxHost]byte
		return m.matchFolded(foldHost(&buf, host), method, path)
	}
	return m.matchFolded(nil, method, path)
}

func (m *router) matchFolded(host, method, path []byte) *Route {
	n, prefix := &m.root, m.root.orShorter()
	for rest := path[1:]; ; {
		seg, end := rest, bytes.IndexByte(rest, '/')
		if end >= 0 {
			seg, rest = rest[:end], rest[end+1:]
		}
		if n = m.child(n, seg); n == nil {
			break
		}
		prefix = n.orShorter()
		if end < 0 {
			if r := n.exact.match(host, method); r != nil {
				return r
			}
			break
		}
	}
	for ; prefix != nil; prefix = prefix.shorter {
		if r := prefix.prefix.match(host, method); r != nil {
			return r
		}
	}
	return nil
}

// orShorter returns the node with the longest prefix that holds everything below n.
func (n *node) orShorter() *node {
	if n.prefix != nil {
		return n
	}
	return n.shorter
}

func (m *router) child(n *node, seg []byte) *node {
	// Longer ones are in no pattern: a path of one endless segment is not worth hashing.
	if n.children == nil || len(seg) > 3*m.maxSegment {
		return nil
	}
	if bytes.IndexByte(seg, '%') < 0 {
		return n.children[string(seg)]
	}
	var buf [maxSegment]byte
	return n.children[string(segmentKey(&buf, seg))]
}

func (t *hostTable) match(host, method []byte) *Route {
	if t == nil {
		return nil
	}
	if len(t.named) > 0 && len(host) > 0 {
		if r := t.named[string(host)].match(method); r != nil {
			return r
		}
	}
	return t.any.match(method)
}

func (t *methodTable) match(method []byte) *Route {
	if t == nil {
		return nil
	}
	if len(t.named) > 0 {
		if r := t.named[string(method)]; r != nil {
			return r
		}
	}
	return t.any
}

// segmentKey returns the form in which a segment is compared: reserved characters are decoded. They are sent
// on as they came, since to some upstreams "%3A" and ":" differ; but most take them for the same, so a request
// must not leave the route of /models:export by writing /models%3Aexport.
func segmentKey(buf *[maxSegment]byte, seg []byte) []byte {
	if bytes.IndexByte(seg, '%') < 0 {
		return seg
	}
	key := buf[:0]
	for i := 0; i < len(seg); i++ {
		if len(key) == maxSegment {
			return seg // longer than any pattern: found as nothing
		}
		c := seg[i]
		if d, ok := unescape(seg[i:]); ok && classOf[d] == byteReserved {
			c = d
			i += 2
		}
		key = append(key, c)
	}
	return key
}

// foldHost returns the host in lower case, without its port and the final dot of a full name. It is empty for a
// host that is longer than any name can be.
func foldHost(buf *[maxHost]byte, host []byte) []byte {
	if i := bytes.LastIndexByte(host, ':'); i >= 0 && bytes.IndexByte(host[i:], ']') < 0 {
		host = host[:i]
	}
	host = bytes.TrimSuffix(host, []byte("."))
	if len(host) > maxHost {
		return nil
	}
	out := buf[:len(host)]
	for i, c := range host {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return out
}

// add puts a route into the tree. It fails if the pattern cannot match anything, or is taken.
func (m *router) add(r *Route, methods []string) error {
	if err := checkPattern(r.Path); err != nil {
		return err
	}
	path, isPrefix := strings.CutSuffix(r.Path, "/*")
	n := &m.root
	var segBuf [maxSegment]byte
	if path != "" {
		for _, seg := range strings.Split(path[1:], "/") {
			key := string(segmentKey(&segBuf, []byte(seg)))
			if len(key) > maxSegment {
				return fmt.Errorf("path: a segment of %d bytes; at most %d are allowed", len(key), maxSegment)
			}
			m.maxSegment = max(m.maxSegment, len(key))
			if n.children == nil {
				n.children = make(map[string]*node)
			}
			if n.children[key] == nil {
				n.children[key] = &node{}
			}
			n = n.children[key]
		}
	}
	at := &n.exact
	if isPrefix {
		at = &n.prefix
	}
	if *at == nil {
		*at = &hostTable{}
	}
	host := ""
	if r.Host != "" {
		var hostBuf [maxHost]byte
		if host = string(foldHost(&hostBuf, []byte(r.Host))); host == "" || strings.ContainsAny(host, "*/ ") {
			return fmt.Errorf("host = %q is not a host name; write one name, or \"\" for any", r.Host)
		}
		m.hasHosts = true
	}
	return (*at).add(host, methods, r)
}

func (t *hostTable) add(host string, methods []string, r *Route) error {
	at := t.any
	if host != "" {
		at = t.named[host]
	}
	if at == nil {
		at = &methodTable{}
		if host == "" {
			t.any = at
		} else {
			if t.named == nil {
				t.named = make(map[string]*methodTable)
			}
			t.named[host] = at
		}
	}
	return at.add(methods, r)
}

func (t *methodTable) add(methods []string, r *Route) error {
	if len(methods) == 0 {
		if t.any != nil {
			return tie(r, t.any, "any method")
		}
		t.any = r
	}
	for _, method := range methods {
		if other := t.named[method]; other != nil && other != r {
			return tie(r, other, method)
		}
		if t.named == nil {
			t.named = make(map[string]*Route)
		}
		t.named[method] = r
	}
	return nil
}

func tie(r, other *Route, method string) error {
	host := r.Host
	if host == "" {
		host = "any host"
	}
	return fmt.Errorf("path = %q: route %q matches the same requests (%s, %s); "+
		"give one of them a host, methods or a path of its own", r.Path, other.Name, host, method)
}

// checkPattern allows only what a canonical path can match.
func checkPattern(pattern string) error {
	path, isPrefix := strings.CutSuffix(pattern, "/*")
	if isPrefix && path == "" {
		return nil // everything
	}
	if strings.Contains(path, "*") || isPrefix && strings.HasSuffix(path, "/") {
		return fmt.Errorf("path = %q: \"*\" may only be the whole last segment, after one slash", pattern)
	}
	canonical, ok := NormalisePath(nil, []byte(path))
	if !ok {
		return fmt.Errorf("path = %q is no path that a request can have; "+
			"it begins with \"/\" and holds no query, no encoded slash and no backslash", pattern)
	}
	if string(canonical) != path {
		return fmt.Errorf("path = %q would never match, since requests are normalised; write %q",
			pattern, string(canonical)+pattern[len(path):])
	}
	return nil
}

// link is called once after the last add.
func (n *node) link(shorter *node) {
	n.shorter = shorter
	if n.prefix != nil {
		shorter = n
	}
	for _, child := range n.children {
		child.link(shorter)
	}
}
