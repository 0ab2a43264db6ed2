package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// maxAge bounds both the age of what is shown and how often the gateway is asked for it, however
// many look.
const maxAge = 100 * time.Millisecond

var errNoSnapshot = errors.New("cannot show a snapshot: the gateway has not made one yet")

// cache keeps the last snapshot and its encoding. Safe for concurrent use.
type cache struct {
	source func() *Snapshot

	mu      sync.Mutex
	madeAt  time.Time
	last    *Snapshot // immutable
	encoded []byte    // immutable: a new one is made each time
}

// current is a snapshot at most maxAge old and its JSON; neither may be changed. The source is
// called under the lock on purpose: whoever comes meanwhile waits for that answer instead of
// asking again.
func (c *cache) current() (*Snapshot, []byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.last != nil && now.Sub(c.madeAt) < maxAge {
		return c.last, c.encoded, nil
	}
	made := c.source()
	if made == nil {
		return nil, nil, errNoSnapshot
	}
	snapshot := made.complete()
	encoded, err := json.Marshal(snapshot)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot encode the snapshot: %w", err)
	}
	encoded = append(encoded, '\n')
	c.madeAt, c.last, c.encoded = now, snapshot, encoded
	return snapshot, encoded, nil
}
