package registration

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Config says what the configuration in force says of a caller and a semantic. It is asked with the registry's lock
// held, and must be quick and ask nothing of the registry.
type Config func(caller, semantic string) Terms

// Registry has all registrations. Safe for concurrent use; Has, which requests ask, takes no lock. It is a
// policy's list of what callers have registered themselves.
type Registry struct {
	active active
	keeper keeper

	mu      sync.Mutex
	config  Config
	callers map[string]*ofCaller
	all     int
	owners  int    // registrations that wait for an owner
	changes uint64 // made so far
}

// ofCaller is what one caller has registered, by semantic.
type ofCaller struct {
	by     map[string]*Registration
	owners int // of them wait for an owner
}

// Has says that a caller has an active registration of a semantic that the configuration does not give it. Both are
// indexes, and the answer allocates nothing.
func (r *Registry) Has(caller, semantic int32) bool { return r.active.has(pair{caller, semantic}) }

// Apply takes another configuration. Registrations that it lets act act when it returns.
func (r *Registry) Apply(c Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.config, r.owners = c, 0
	var pairs []pair
	for _, of := range r.callers {
		of.owners = 0
		for _, reg := range of.by {
			v := r.view(reg)
			if v.Status == Active {
				pairs = append(pairs, pair{v.Terms.Caller, v.Terms.Semantic})
			}
			if v.WaitsForOwner() {
				of.owners++
			}
		}
		r.owners += of.owners
	}
	r.active.replace(pairs)
}

func (r *Registry) view(reg *Registration) View {
	t := r.config(reg.Caller, reg.Semantic)
	return View{Registration: reg, Terms: t, Status: reg.Status(t)}
}

// Ask registers a semantic for a caller, or says other words of one that is registered. The view of one that the
// configuration gives has no Registration: nothing was done, and nothing needs to be. Its error is a *Failure.
func (r *Registry) Ask(now time.Time, caller, semantic string, w Words) (v View, made bool, err error) {
	switch {
	case !ValidName(semantic):
		return View{}, false, &Failure{Why: NoName}
	case semantic == Reserved:
		return View{}, false, &Failure{Why: IsReserved}
	}
	now = moment(now)
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.config(caller, semantic)
	if t.Given {
		return View{Terms: t, Status: Active}, false, nil
	}
	if t.Plan != PlanAuto && t.Plan != PlanApprove {
		return View{}, false, &Failure{Why: PlanIsOff}
	}
	of := r.callers[caller]
	next := &Registration{Caller: caller, Semantic: semantic, Words: w, Asked: now}
	if old := of.get(semantic); old != nil {
		denied := old.Decision == Refused && !old.again()
		if denied && now.Before(old.MayAskAgain()) {
			return View{}, false, &Failure{Why: RefusedLately, Until: old.MayAskAgain()}
		}
		changed := *old
		changed.Words = w
		if denied {
			changed.Asked = now
		}
		if changed == *old {
			return r.view(old), false, nil
		}
		next = &changed
	} else {
		switch {
		case of != nil && len(of.by) >= MaxPerCaller:
			return View{}, false, &Failure{Why: CallerIsFull}
		case r.all >= MaxAll:
			return View{}, false, &Failure{Why: AllIsFull}
		}
		made = true
	}
	r.put(next)
	return r.view(next), made, nil
}

// TakeBack ends a registration by its caller's own wish. One that was refused and asked again is as it was before
// it was asked again, so that nobody loses a refusal by asking: left says so. Its error is a *Failure.
func (r *Registry) TakeBack(caller, semantic string) (v View, left bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.config(caller, semantic).Given {
		return View{}, false, &Failure{Why: IsGiven}
	}
	old := r.callers[caller].get(semantic)
	switch {
	case old == nil:
		return View{}, false, &Failure{Why: IsUnknown}
	case old.Decision == Refused && !old.again():
		return View{}, false, &Failure{Why: RefusedLately, Until: old.MayAskAgain()}
	case old.Decision == Refused:
		changed := *old
		changed.Asked = old.Decided
		r.put(&changed)
		return r.view(&changed), true, nil
	}
	r.drop(old)
	return r.view(old), false, nil
}

// Decide is an owner's word: approve, refuse or, with nil, forget. The view is how it stands afterwards, or
// stood before it was forgotten. Its error is a *Failure.
func (r *Registry) Decide(now time.Time, by, reason, caller, semantic string, approve *bool) (View, error) {
	now = moment(now)
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.callers[caller].get(semantic)
	if old == nil {
		return View{}, &Failure{Why: IsUnknown}
	}
	if approve == nil {
		v := r.view(old)
		r.drop(old)
		return v, nil
	}
	next := *old
	next.Decision, next.Decided, next.By, next.Reason = Refused, now, by, reason
	if *approve {
		if !r.config(caller, semantic).Configured() {
			return View{}, &Failure{Why: SemanticUnknown}
		}
		next.Decision = Approved
	}
	if next.Decided.Before(next.Asked) { // the clock was set back; the decision is the later of the two all the same
		next.Decided = next.Asked
	}
	r.put(&next)
	return r.view(&next), nil
}

// Of are the registrations of one caller, by name.
func (r *Registry) Of(caller string) []View {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.callers[caller]
	if of == nil {
		return nil
	}
	views := make([]View, 0, len(of.by))
	for _, reg := range of.by {
		views = append(views, r.view(reg))
	}
	slices.SortFunc(views, func(a, b View) int { return strings.Compare(a.Semantic, b.Semantic) })
	return views
}

// Get is one registration.
func (r *Registry) Get(caller, semantic string) (View, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reg := r.callers[caller].get(semantic)
	if reg == nil {
		return View{}, false
	}
	return r.view(reg), true
}

// All are all registrations: first those that wait for an owner, the longest first, then those that wait for the
// configuration, then the others by caller and semantic.
func (r *Registry) All() []View {
	r.mu.Lock()
	views := make([]View, 0, r.all)
	for _, of := range r.callers {
		for _, reg := range of.by {
			views = append(views, r.view(reg))
		}
	}
	r.mu.Unlock()
	rank := func(v *View) int {
		switch {
		case v.WaitsForOwner():
			return 0
		case v.Status == Waiting:
			return 1
		}
		return 2
	}
	slices.SortFunc(views, func(a, b View) int {
		order := cmp.Compare(rank(&a), rank(&b))
		if order == 0 && a.Status == Waiting {
			order = a.Asked.Compare(b.Asked)
		}
		return cmp.Or(order, strings.Compare(a.Caller, b.Caller), strings.Compare(a.Semantic, b.Semantic))
	})
	return views
}

// WaitForOwner is how many registrations wait for an owner.
func (r *Registry) WaitForOwner() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.owners
}

func (of *ofCaller) get(semantic string) *Registration {
	if of == nil {
		return nil
	}
	return of.by[semantic]
}

// put adds or replaces a registration. It is called with the lock held, as drop is.
func (r *Registry) put(reg *Registration) {
	of := r.callers[reg.Caller]
	if of == nil {
		of = &ofCaller{by: map[string]*Registration{}}
		r.callers[reg.Caller] = of
	}
	if of.by[reg.Semantic] == nil {
		r.all++
	}
	of.by[reg.Semantic] = reg
	r.touched(of, reg)
}

func (r *Registry) drop(reg *Registration) {
	of := r.callers[reg.Caller]
	delete(of.by, reg.Semantic)
	if len(of.by) == 0 {
		delete(r.callers, reg.Caller)
	}
	r.all--
	r.touched(of, reg)
}

// touched brings what follows from a registration that has changed.
func (r *Registry) touched(of *ofCaller, reg *Registration) {
	r.changes++
	v := r.view(reg)
	r.active.set(pair{v.Terms.Caller, v.Terms.Semantic}, of.by[reg.Semantic] == reg && v.Status == Active)
	r.owners -= of.owners
	of.owners = 0
	for _, each := range of.by {
		if v := r.view(each); v.WaitsForOwner() {
			of.owners++
		}
	}
	r.owners += of.owners
}

// moment is a time as it is kept: of the calendar, in whole milliseconds.
func moment(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
