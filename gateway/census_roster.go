package gateway

import (
	"slices"
	"strings"

	"tidegate/gateway/policy"
)

// roster is the callers of one policy as censuses list them, made once for it.
type roster struct {
	policy  *policy.Policy
	callers []*policy.Caller // in the order of their ids
	text    []string         // what each can be searched by, in lower case
	places  []int32          // by the caller's index: its place in callers, from 1; 0: none
}

// placeOf is a caller's place by its index; -1: the policy does not have it.
func (r *roster) placeOf(index int32) int32 {
	if index < 0 || int(index) >= len(r.places) {
		return -1
	}
	return r.places[index] - 1
}

// rosterOf lists the callers of a policy.
func rosterOf(p *policy.Policy) *roster {
	r := &roster{policy: p, callers: p.Callers()}
	slices.SortFunc(r.callers, func(a, b *policy.Caller) int { return strings.Compare(a.ID, b.ID) })
	r.text = make([]string, len(r.callers))
	for i, caller := range r.callers {
		r.text[i] = strings.ToLower(caller.ID + "\n" + caller.Name)
		for int(caller.Index) >= len(r.places) {
			r.places = append(r.places, 0)
		}
		r.places[caller.Index] = int32(i + 1)
	}
	return r
}
