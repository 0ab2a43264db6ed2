package gateway

import (
	"bytes"
	"crypto/sha256"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/config"
	"tidegate/gateway/policy"
)

// The headers that a request may bring to the gateway itself, and those that it sets for upstreams.
const (
	headerMaxWait   = "X-Max-Wait"
	headerTicket    = "X-Queue-Ticket"
	headerRequestID = "X-Request-Id"
	headerCaller    = "X-Tidegate-Caller"
	headerSemantic  = "X-Tidegate-Semantic"
	headerTenant    = "X-Tidegate-Tenant"
	bearerPrefix    = "Bearer "
)

// longestWait bounds X-Max-Wait; longer is said to be nonsense.
const longestWait = 24 * time.Hour

// places says where a request's key, semantic and tenant are read, in order. It is immutable.
type places struct {
	key, semantic, tenant []config.Place
	once                  *fieldNames // headers of which a request may have one
	parameters            []string    // of the query, likewise
}

func newPlaces(c *config.Identify) (*places, error) {
	p := &places{}
	names := []string{headerMaxWait, headerTicket}
	for _, list := range []struct {
		to   *[]config.Place
		from []string
	}{{&p.key, c.Key}, {&p.semantic, c.Semantic}, {&p.tenant, c.Tenant}} {
		for _, s := range list.from {
			place, err := config.ParsePlace(s)
			if err != nil {
				return nil, err
			}
			*list.to = append(*list.to, place)
			switch place.Kind {
			case "header":
				names = append(names, place.Name)
			case "bearer":
				names = append(names, fasthttp.HeaderAuthorization)
			case "query":
				p.parameters = append(p.parameters, place.Name)
			}
		}
	}
	p.once = newFieldNames(names...)
	return p, nil
}

// readFields checks what the header may have once, and reads how long the request is willing to wait.
func (x *exchange) readFields(h *fasthttp.RequestHeader) bool {
	if name := x.live.places.once.duplicate(h.RawHeaders()); name != "" {
		x.refusal.Detail = "The header " + name + " may be there once. Send one of them."
		return false
	}
	for _, name := range x.live.places.parameters {
		if repeated(h.RequestURI(), name) {
			x.refusal.Detail = "The parameter " + name + " may be there once. Send one of them."
			return false
		}
	}
	if wait := h.Peek(headerMaxWait); len(wait) > 0 {
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
	h := &x.ctx.Request.Header
	for _, place := range x.live.places.key {
		var key []byte
		switch place.Kind {
		case "header":
			key = h.Peek(place.Name)
		case "query":
			key = queryValue(h.RequestURI(), place.Name)
		case "bearer":
			// Any other Authorization is the application's.
			key = bearer(h)
			if key == nil || x.live.policy.CallerByKey(key) == nil {
				continue
			}
		}
		if len(key) == 0 {
			continue
		}
		x.keyHash = sha256.Sum256(key)
		if x.caller = x.live.policy.CallerByKey(key); x.caller == nil {
			return CodeCallerUnknown
		}
		if !x.caller.Enabled {
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

func bearer(h *fasthttp.RequestHeader) []byte {
	v := h.Peek(fasthttp.HeaderAuthorization)
	if len(v) <= len(bearerPrefix) || !equalFold(v[:len(bearerPrefix)], "bearer ") {
		return nil
	}
	return bytes.TrimLeft(v[len(bearerPrefix):], " ")
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

func (x *exchange) read(from []config.Place) []byte {
	h := &x.ctx.Request.Header
	for _, place := range from {
		var v []byte
		if place.Kind == "query" {
			v = queryValue(h.RequestURI(), place.Name)
		} else {
			v = h.Peek(place.Name)
		}
		if len(v) > 0 {
			return v
		}
	}
	return nil
}

// dress strips what was meant for the gateway and tells the upstream who sends what. It comes last
// before forwarding: some of the request's bytes move.
func (x *exchange) dress(h *fasthttp.RequestHeader) {
	for _, list := range [...][]config.Place{x.live.places.key, x.live.places.semantic, x.live.places.tenant} {
		for _, place := range list {
			x.strip(h, place)
		}
	}
	h.Del(headerMaxWait)
	h.Del(headerTicket)
	if own := ownFields(h.RawHeaders()); own {
		dropOwnFields(h)
	}
	h.Set(headerCaller, x.caller.ID)
	h.Set(headerSemantic, x.semantic.Name)
	if len(x.tenant) > 0 {
		h.SetBytesV(headerTenant, x.tenant)
	}
	h.SetBytesV(headerRequestID, x.requestID())
	x.trace = newTrace(h.Peek("Traceparent"))
	if !x.trace.inherited {
		h.Del("Tracestate")
	}
	x.scratch = x.trace.appendParent(x.scratch[:0])
	h.SetBytesV("Traceparent", x.scratch)
}

func (x *exchange) strip(h *fasthttp.RequestHeader, place config.Place) {
	switch place.Kind {
	case "header":
		h.Del(place.Name)
	case "query":
		if uri, cut := withoutQuery(h.RequestURI(), place.Name); cut {
			h.SetRequestURIBytes(uri)
		}
	case "bearer":
		if key := bearer(h); key != nil && x.live.policy.CallerByKey(key) != nil {
			h.Del(fasthttp.HeaderAuthorization)
		}
	}
}

// ownFields says that a client sent headers of the kind that only the gateway sets.
func ownFields(raw []byte) bool {
	const prefix = "x-tidegate-"
	for len(raw) > len(prefix) {
		if (raw[0] == 'X' || raw[0] == 'x') && equalFold(raw[:len(prefix)], prefix) {
			return true
		}
		i := bytes.IndexByte(raw, '\n')
		if i < 0 {
			return false
		}
		raw = raw[i+1:]
	}
	return false
}

func dropOwnFields(h *fasthttp.RequestHeader) {
	var names []string
	for name := range h.All() {
		if len(name) >= len("x-tidegate-") && equalFold(name[:len("x-tidegate-")], "x-tidegate-") {
			names = append(names, string(name))
		}
	}
	for _, name := range names {
		h.Del(name)
	}
}

// text is b as a string, without a copy: it must not outlive b.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
