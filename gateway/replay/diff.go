package replay

import (
	"cmp"
	"slices"
)

// Diff is what another configuration would have changed for the same requests. Its JSON names are part of the public contract.
type Diff struct {
	Before    string        `json:"before"` // the config files
	After     string        `json:"after"`
	Requests  int64         `json:"requests"`
	FromMS    int64         `json:"from_ms"`
	ToMS      int64         `json:"to_ms"`
	Total     Change        `json:"total"`
	Changes   []Change      `json:"changes"`          // the largest first
	Others    *OtherChanges `json:"others,omitempty"` // changes that are in none of them
	Unchanged int           `json:"unchanged"`        // callers and semantics for whom everything is as before
	Pools     []PoolChange  `json:"pools"`            // those that changed
	Notes     [2][]Note     `json:"notes"`            // before, after
	Passed    *Passed       `json:"passed_over,omitempty"`
}

// Change is what changes for one caller and semantic. A side is nil where there are no such requests: the other
// configuration counts them under another semantic.
type Change struct {
	Caller   string `json:"caller"`
	Semantic string `json:"semantic"`
	Before   *Row   `json:"before"`
	After    *Row   `json:"after"`
	Size     int64  `json:"size"` // requests that fare otherwise, as far as the numbers show
}

// OtherChanges are changes that are told together.
type OtherChanges struct {
	Changes int   `json:"changes"`
	Size    int64 `json:"size"`
}

// PoolChange is what changes for a pool. A side is nil where the configuration has no such pool.
type PoolChange struct {
	Name   string `json:"pool"`
	Before *Pool  `json:"before"`
	After  *Pool  `json:"after"`
}

// Compare says what changes from one engine to another that played the same trace, with at most so many changes; 0: with all.
func Compare(before, after *Engine, rows int) *Diff {
	a, b := before.Report(0), after.Report(0)
	d := &Diff{
		Before: a.Config, After: b.Config, Requests: a.Requests, FromMS: a.FromMS, ToMS: a.ToMS,
		Total: change(&a.Total, &b.Total), Changes: []Change{}, Pools: []PoolChange{}, Notes: [2][]Note{a.Notes, b.Notes},
	}
	type key struct{ caller, semantic string }
	was := make(map[key]*Row, len(a.Rows))
	for i := range a.Rows {
		was[key{a.Rows[i].Caller, a.Rows[i].Semantic}] = &a.Rows[i]
	}
	add := func(c Change) {
		if c.same() {
			d.Unchanged++
			return
		}
		d.Changes = append(d.Changes, c)
	}
	for i := range b.Rows {
		k := key{b.Rows[i].Caller, b.Rows[i].Semantic}
		add(change(was[k], &b.Rows[i]))
		delete(was, k)
	}
	for i := range a.Rows {
		if r := was[key{a.Rows[i].Caller, a.Rows[i].Semantic}]; r != nil {
			add(change(r, nil))
		}
	}
	slices.SortStableFunc(d.Changes, func(x, y Change) int {
		return cmp.Or(cmp.Compare(y.Size, x.Size), cmp.Compare(y.slower(), x.slower()), cmp.Compare(x.Caller, y.Caller), cmp.Compare(x.Semantic, y.Semantic))
	})
	if rows > 0 && len(d.Changes) > rows {
		d.Others = &OtherChanges{Changes: len(d.Changes) - rows}
		for _, c := range d.Changes[rows:] {
			d.Others.Size += c.Size
		}
		d.Changes = d.Changes[:rows]
	}
	d.pools(a.Pools, b.Pools)
	return d
}

// PassedOver adds what of the trace could not be played.
func (d *Diff) PassedOver(t *Trace) { d.Passed = t.passedOver() }

func change(before, after *Row) Change {
	c := Change{Before: before, After: after}
	x, y := before, after
	if x == nil {
		x = &Row{}
	}
	if y == nil {
		y = &Row{}
	}
	c.Caller, c.Semantic = cmp.Or(x.Caller, y.Caller), cmp.Or(x.Semantic, y.Semantic)
	// Each request that fares otherwise is in one number less and in another more.
	sum := distance(x.AtOnce, y.AtOnce) + distance(x.Waited, y.Waited)
	codes := map[string]bool{}
	for code := range x.Codes {
		codes[code] = true
	}
	for code := range y.Codes {
		codes[code] = true
	}
	for code := range codes {
		sum += distance(x.Codes[code], y.Codes[code])
	}
	c.Size = (sum + 1) / 2
	if before == nil || after == nil {
		c.Size = sum
	}
	return c
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// slower is by how much the waits differ, in milliseconds.
func (c *Change) slower() float64 {
	if c.Before == nil || c.After == nil {
		return 0
	}
	return max(c.After.P99-c.Before.P99, c.Before.P99-c.After.P99)
}

// same says that nothing has changed but, at most, the order of requests.
func (c *Change) same() bool {
	x, y := c.Before, c.After
	return x != nil && y != nil && c.Size == 0 && x.Offered == y.Offered && x.P50 == y.P50 && x.P99 == y.P99 && x.Max == y.Max &&
		x.Surges == y.Surges && x.Surging == y.Surging && x.WouldWait == y.WouldWait && sumOf(x.WouldRefuse) == sumOf(y.WouldRefuse)
}

func (d *Diff) pools(before, after []Pool) {
	find := func(list []Pool, name string) *Pool {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
		return nil
	}
	for i := range after {
		if was := find(before, after[i].Name); was == nil || *was != after[i] {
			d.Pools = append(d.Pools, PoolChange{after[i].Name, was, &after[i]})
		}
	}
	for i := range before {
		if find(after, before[i].Name) == nil {
			d.Pools = append(d.Pools, PoolChange{before[i].Name, &before[i], nil})
		}
	}
}
