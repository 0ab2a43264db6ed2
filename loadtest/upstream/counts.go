package upstream

import (
	"maps"
	"sync"
)

// Counts is what the upstream saw. Its JSON is the answer at StatsPath.
type Counts struct {
	Served   int64            `json:"served"`
	InFlight int              `json:"in_flight"`
	Peak     int              `json:"peak"`   // highest in flight, all groups together
	Groups   map[string]Group `json:"groups"` // by group of callers
	// TurnedAway are those of Served that found the backlog full.
	TurnedAway int64 `json:"turned_away,omitempty"`
	// Tags counts requests by the caller and the semantic that the gateway vouched for.
	Tags map[string]map[string]int64 `json:"tags"`
}

// Group is the share of one group of callers, such as the callers of one pool.
type Group struct {
	Served   int64 `json:"served"`
	InFlight int   `json:"in_flight"`
	Peak     int   `json:"peak"`
}

// counter counts exactly: one lock, so that a peak is one that truly was. It is safe for concurrent use.
type counter struct {
	groupOf map[string]string // caller to group; who is not in it belongs to Rest

	mu     sync.Mutex
	counts Counts
}

// Rest is the group of the callers that no group names.
const Rest = "shared"

func newCounter(groups map[string][]string) *counter {
	c := &counter{groupOf: make(map[string]string)}
	c.counts.Groups = map[string]Group{Rest: {}}
	c.counts.Tags = make(map[string]map[string]int64)
	for group, callers := range groups {
		c.counts.Groups[group] = Group{}
		for _, caller := range callers {
			c.groupOf[caller] = group
		}
	}
	return c
}

// begin counts a request in and names its group.
func (c *counter) begin(caller, semantic string) (group string) {
	group, named := c.groupOf[caller]
	if !named {
		group = Rest
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.InFlight++
	c.counts.Peak = max(c.counts.Peak, c.counts.InFlight)
	g := c.counts.Groups[group]
	g.InFlight++
	g.Peak = max(g.Peak, g.InFlight)
	c.counts.Groups[group] = g
	tags := c.counts.Tags[caller]
	if tags == nil {
		tags = make(map[string]int64)
		c.counts.Tags[caller] = tags
	}
	tags[semantic]++
	return group
}

// end counts it out.
func (c *counter) end(group string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.InFlight--
	c.counts.Served++
	g := c.counts.Groups[group]
	g.InFlight--
	g.Served++
	c.counts.Groups[group] = g
}

func (c *counter) turnAway() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.TurnedAway++
}

func (c *counter) read() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.counts
	counts.Groups = maps.Clone(counts.Groups)
	counts.Tags = make(map[string]map[string]int64, len(c.counts.Tags))
	for caller, tags := range c.counts.Tags {
		counts.Tags[caller] = maps.Clone(tags)
	}
	return counts
}
