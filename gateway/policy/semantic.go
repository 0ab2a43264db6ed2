package policy

// semanticSet is a set of semantics by position.
type semanticSet []uint64

func makeSemanticSet(n int) semanticSet { return make(semanticSet, (n+63)/64) }

func (s semanticSet) add(position int)      { s[position/64] |= 1 << (position % 64) }
func (s semanticSet) has(position int) bool { return s[position/64]&(1<<(position%64)) != 0 }

// SemanticFor returns the semantic of a request; an empty tag is no tag. It is never nil, and allocates nothing.
func (p *Policy) SemanticFor(r *Route, c *Caller, tag []byte) *Semantic {
	s, _ := p.semanticFor(r, c, tag)
	return s
}

// semanticReason says why a request has its semantic.
type semanticReason uint8

const (
	tagHolds semanticReason = iota
	tagIsDefault
	tagUnknown
	tagNotAccepted
	tagNotRegistered
	impliedByRoute
	impliedNotRegistered
	noTagSeveralAccepted
	noTagNoneAccepted
)

func (p *Policy) semanticFor(r *Route, c *Caller, tag []byte) (*Semantic, semanticReason) {
	if len(tag) == 0 {
		switch {
		case r.implied == nil && r.several:
			return p.fallback, noTagSeveralAccepted
		case r.implied == nil:
			return p.fallback, noTagNoneAccepted
		case r.implied != p.fallback && !c.registered.has(r.implied.position):
			return p.fallback, impliedNotRegistered
		}
		return r.implied, impliedByRoute
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
	case !c.registered.has(s.position):
		return p.fallback, tagNotRegistered
	}
	return s, tagHolds
}
