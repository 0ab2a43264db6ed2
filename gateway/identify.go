package gateway

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/config"
	"tidegate/gateway/octets"
	"tidegate/gateway/policy"
	"tidegate/gateway/upstream"
)

// The headers that the gateway sets.
const (
	headerRequestID = "X-Request-Id"
	headerCaller    = "X-Tidegate-Caller"
	headerSemantic  = "X-Tidegate-Semantic"
	headerTenant    = "X-Tidegate-Tenant"
	headerTiming    = "Server-Timing"
	headerRateLimit = "RateLimit"
	headerPolicy    = "RateLimit-Policy"
)

// longestWait bounds X-Max-Wait; longer is said to be nonsense.
const longestWait = 24 * time.Hour

// places says where a request's key, semantic and tenant are read, in order. It is immutable.
type places struct {
	key, semantic, tenant []place
	fields                *fieldTable
	parameters            []string // of the query, of which a request may have each once
}

// place is one of them; a header is found by its place in the table.
type place struct {
	config.Place
	field int
}

func newPlaces(c *config.Identify) (*places, error) {
	p := &places{fields: newFieldTable()}
	for _, list := range []struct {
		to   *[]place
		from []string
	}{{&p.key, c.Key}, {&p.semantic, c.Semantic}, {&p.tenant, c.Tenant}} {
		for _, s := range list.from {
			parsed, err := config.ParsePlace(s)
			if err != nil {
				return nil, err
			}
			at := place{Place: parsed}
			switch parsed.Kind {
			case "header":
				at.field = p.fields.add(field{strings.ToLower(parsed.Name), true, true})
			case "bearer":
				at.field = p.fields.add(field{"authorization", true, false})
			case "query":
				p.parameters = append(p.parameters, parsed.Name)
			}
			*list.to = append(*list.to, at)
		}
	}
	if n := len(p.fields.fields); n > mostFields {
		return nil, fmt.Errorf("cannot read [identify]: it names %d headers besides the gateway's own %d, and %d together are the most; name fewer", n-fixedFields, fixedFields, mostFields)
	}
	return p, nil
}

// readFields finds what the header says to the gateway, and how long the request is willing to wait.
func (x *exchange) readFields(h *fasthttp.RequestHeader) bool {
	twice := x.live.places.fields.read(h.RawHeaders(), &x.fields)
	x.name(x.fields.of(fieldRequestID))
	if twice != "" {
		x.refusal.Detail = "The header " + twice + " may be there once. Send one of them."
		return false
	}
	for _, name := range x.live.places.parameters {
		if repeated(h.RequestURI(), name) {
			x.refusal.Detail = "The parameter " + name + " may be there once. Send one of them."
			return false
		}
	}
	if wait := x.fields.of(fieldMaxWait); wait != nil { // an empty one is nonsense, too
		d, ok := parseMaxWait(wait)
		if !ok {
			x.refusal.Detail = "X-Max-Wait has to be a duration such as 1.5s or 200ms, at least 0 and at most 24h."
			return false
		}
		x.maxWait = d
	}
	return true
}

// parseMaxWait reads how long a request is willing to wait; not ok: nonsense.
func parseMaxWait(b []byte) (wait time.Duration, ok bool) {
	wait, err := time.ParseDuration(string(b))
	return wait, err == nil && wait >= 0 && wait <= longestWait
}

// readPath normalises the path, and has the upstream sent what was matched.
func (x *exchange) readPath(h *fasthttp.RequestHeader) bool {
	target := h.RequestURI()
	if len(target) > 0 && target[0] != '/' {
		// Absolute form: the authority was checked against Host when the header was read.
		if i := bytes.Index(target, []byte("://")); i > 0 {
			rest := target[i+3:]
			if j := bytes.IndexAny(rest, "/?"); j >= 0 {
				target = rest[j:]
			} else {
				target = nil
			}
		}
	}
	raw, query := target, []byte(nil)
	if i := bytes.IndexByte(target, '?'); i >= 0 {
		raw, query = target[:i], target[i:]
	}
	if len(raw) == 0 {
		raw = []byte("/")
	}
	if len(raw) == 1 && raw[0] == '*' {
		x.path = raw // OPTIONS *: no route has it
		return true
	}
	path, ok := policy.NormalisePath(x.scratch[:0], raw)
	if !ok {
		x.refusal.Detail = "The path can be read in more than one way. Send it without encoded slashes, dot segments and control bytes."
		return false
	}
	if len(target) == len(h.RequestURI()) && len(path) == len(raw) && &path[0] == &target[0] { // as it came
		x.path = path
		return true
	}
	whole := append(path[:len(path):len(path)], query...)
	h.SetRequestURIBytes(whole)
	// The header has its own copy now; what was matched is the beginning of it.
	x.path = h.RequestURI()[:len(path)]
	return true
}

// findCaller finds out who sends, or says why not.
func (x *exchange) findCaller() Code {
	for i := range x.live.places.key {
		at := &x.live.places.key[i]
		var key []byte
		switch at.Kind {
		case "header":
			key = x.fields.of(at.field)
		case "query":
			key = queryValue(x.ctx.Request.Header.RequestURI(), at.Name)
		case "bearer":
			key = bearer(x.fields.of(at.field))
		}
		if len(key) == 0 {
			continue
		}
		hash := sha256.Sum256(key)
		caller := x.live.policy.CallerByHash(&hash)
		if at.Kind == "bearer" {
			if caller == nil {
				continue // any other Authorization is the application's
			}
			x.bearer = true
		}
		x.keyHash, x.caller = hash, caller
		switch {
		case caller == nil:
			return CodeCallerUnknown
		case !caller.Enabled:
			return CodeCallerDisabled
		}
		return CodeNone
	}
	if !x.route.Public {
		return CodeCallerUnknown
	}
	x.caller = x.live.policy.Anonymous()
	switch {
	case x.caller == nil:
		return CodeCallerUnknown
	case !x.caller.Enabled:
		return CodeCallerDisabled
	}
	return CodeNone
}

// bearer is the token of an Authorization field, nil if it is of another kind.
func bearer(authorization []byte) []byte {
	const scheme = "bearer "
	if len(authorization) <= len(scheme) || !octets.EqualFold(authorization[:len(scheme)], scheme) {
		return nil
	}
	return bytes.TrimLeft(authorization[len(scheme):], " ")
}

// findTenant reads the tenant and the tag.
func (x *exchange) findTenant() Code {
	x.tag = x.read(x.live.places.semantic)
	tenant := x.read(x.live.places.tenant)
	switch {
	case len(tenant) == 0 && x.caller.Plan.ByTenant && !x.caller.Anonymous:
		return CodeTenantMissing
	case len(tenant) == 0:
		return CodeNone
	case !policy.ValidTenant(tenant):
		x.refusal.Detail = "A tenant is 1 to 128 characters of A-Z, a-z, 0-9 and . _ : -"
		return CodeBadRequest
	}
	x.tenant = x.keep(tenant)
	return CodeNone
}

func (x *exchange) read(from []place) []byte {
	for i := range from {
		v := x.fields.of(from[i].field)
		if from[i].Kind == "query" {
			v = queryValue(x.ctx.Request.Header.RequestURI(), from[i].Name)
		}
		if len(v) > 0 {
			return v
		}
	}
	return nil
}

// dress tells the upstream who sends what, as header lines to add. What was meant for the gateway is
// dropped on the way; see Drops.
func (x *exchange) dress(h *fasthttp.RequestHeader) {
	for _, list := range [...][]place{x.live.places.key, x.live.places.semantic, x.live.places.tenant} {
		for i := range list {
			if list[i].Kind == "query" {
				if uri, cut := withoutQuery(h.RequestURI(), list[i].Name); cut {
					h.SetRequestURIBytes(uri)
				}
			}
		}
	}
	if !x.bearer {
		// A known key that was not needed must not go on either.
		for i := range x.live.places.key {
			if at := &x.live.places.key[i]; at.Kind == "bearer" {
				if key := bearer(x.fields.of(at.field)); len(key) > 0 {
					x.bearer = x.live.policy.CallerByKey(key) != nil
				}
			}
		}
	}
	x.trace = newTrace(x.fields.of(fieldTraceparent))
	b := append(x.lines[:0], headerCaller+": "...)
	b = append(b, x.caller.ID...)
	b = append(b, "\r\n"+headerSemantic+": "...)
	b = append(b, x.semantic.Name...)
	if len(x.tenant) > 0 {
		b = append(b, "\r\n"+headerTenant+": "...)
		b = append(b, x.tenant...)
	}
	b = append(b, "\r\n"+headerRequestID+": "...)
	b = append(b, x.requestID()...)
	b = append(b, "\r\nTraceparent: "...)
	b = x.trace.appendParent(b)
	x.lines = append(b, '\r', '\n')
	x.head = upstream.Head{Trusted: x.trusted, Drop: x, More: x.lines}
}

// Drops says that a header line of the request is not passed on.
func (x *exchange) Drops(n int, name []byte) bool {
	if x.live.places.fields.drops(&x.fields, n, name) {
		return true
	}
	switch len(name) {
	case len("authorization"):
		return x.bearer && octets.EqualFold(name, "authorization")
	case len("tracestate"):
		return !x.trace.inherited && octets.EqualFold(name, "tracestate")
	}
	return false
}

// text is b as a string, without a copy: it must not outlive b.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
