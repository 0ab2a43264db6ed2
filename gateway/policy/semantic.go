package policy

// semanticSet is a set of semantics by position.
type semanticSet []uint64

func makeSemanticSet(n int) semanticSet { return make(semanticSet, (n+63)/64) }

func (s semanticSet) add(position int)      { s[position/64] |= 1 << (position % 64) }
func (s semanticSet) has(position int) bool { return s[position/64]&(1<<(position%64)) != 0 }

// Registrations are what callers have registered themselves, beside what the configuration says. It is asked on the
// request's way: it must be safe for concurrent use, and quick. Caller and semantic are indexes of Names.
type Registrations interface {
	Has(caller, semantic int32) bool
}

// SemanticFor returns the semantic of a request; an empty tag is no tag, and more may be nil. It is never nil, and
// allocates nothing.
func (p *Policy) SemanticFor(r *Route, c *Caller, tag []byte, more Registrations) *Semantic {
	s, _ := p.semanticFor(r, c, tag, more)
	return s
}

// registered says whether a caller may send a semantic. What the configuration says is looked at first: nearly all
// requests need no more.
func (c *Caller) registered(s *Semantic, more Registrations) (ok, itself bool) {
	if c.registers.has(s.position) {
		return true, false
	}
	itself = more != nil && more.Has(c.Index, s.Index)
	return itself, itself
}

// Registered says whether the configuration registers a caller for a semantic. Everybody may send default.
func (c *Caller) Registered(s *Semantic) bool {
	return s.Name == DefaultSemantic || c.registers.has(s.position)
}

// semanticReason says why a request has its semantic.
type semanticReason uint8

const (
	tagHolds semanticReason = iota
	tagRegisteredByCaller
	tagIsDefault
	tagUnknown
	tagNotAccepted
	tagNotRegistered
	impliedByRoute
	impliedRegisteredByCaller
	impliedNotRegistered
	noTagSeveralAccepted
	noTagNoneAccepted
)

func (p *Policy) semanticFor(r *Route, c *Caller, tag []byte, more Registrations) (*Semantic, semanticReason) {
	if len(tag) == 0 {
		switch {
		case r.implied == nil && r.several:
			return p.fallback, noTagSeveralAccepted
		case r.implied == nil:
			return p.fallback, noTagNoneAccepted
		case r.implied == p.fallback:
			return r.implied, impliedByRoute
		}
		switch ok, itself := c.registered(r.implied, more); {
		case itself:
			return r.implied, impliedRegisteredByCaller
		case ok:
			return r.implied, impliedByRoute
		}
		return p.fallback, impliedNotRegistered
	}
	if len(tag) > p.maxTag { // is not worth hashing
		return p.fallback, tagUnknown
	}
	s := p.byTag[string(tag)]
	switch {
	case s == nil:
		return p.fallback, tagUnknown
	case s == p.fallback:
		return s, tagIsDefault
	case !r.accepts.has(s.position):
		return p.fallback, tagNotAccepted
	}
	switch ok, itself := c.registered(s, more); {
	case itself:
		return s, tagRegisteredByCaller
	case ok:
		return s, tagHolds
	}
	return p.fallback, tagNotRegistered
}
