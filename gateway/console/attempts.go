package console

import (
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"
)

const (
	maxAttempts = 10          // wrong tokens from one address, in
	attemptSpan = time.Minute // from the first of them; then the count starts anew
	maxSources  = 1024        // addresses remembered; the rest share one count
)

// attempts slows down guessing: after maxAttempts wrong tokens an address is not listened to until
// attemptSpan has passed since the first. It bounds a guesser to ten tries a minute, not more: what
// keeps him out is the token's length. The zero value is ready. Safe for concurrent use.
type attempts struct {
	mu      sync.Mutex
	sources map[netip.Prefix]*failures
}

type failures struct {
	first time.Time
	count int
	last  [sha256.Size]byte // of the wrong token; a client that repeats an outdated one is not guessing
}

// lockedFor is how long from is not listened to any more, 0 when it is.
func (a *attempts) lockedFor(from netip.Prefix, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.sources[from]
	if f == nil && len(a.sources) >= maxSources {
		f = a.sources[netip.Prefix{}]
	}
	if f == nil || f.count < maxAttempts {
		return 0
	}
	return max(0, f.first.Add(attemptSpan).Sub(now))
}

// failed counts a wrong token, if it is not the same again, and says whether it locks its address out.
func (a *attempts) failed(from netip.Prefix, sum [sha256.Size]byte, now time.Time) (counted, locks bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.of(from, now)
	if now.Sub(f.first) >= attemptSpan {
		*f = failures{first: now}
	}
	if f.count > 0 && f.last == sum {
		return false, false
	}
	f.count++
	f.last = sum
	return true, f.count == maxAttempts
}

// of is the record of an address, a new one if it has none. When the table is full the outdated
// records go; if none is, the newcomers share the record of the zero prefix.
func (a *attempts) of(from netip.Prefix, now time.Time) *failures {
	if f := a.sources[from]; f != nil {
		return f
	}
	if a.sources == nil {
		a.sources = make(map[netip.Prefix]*failures)
	}
	if len(a.sources) >= maxSources {
		for key, f := range a.sources {
			if now.Sub(f.first) >= attemptSpan {
				delete(a.sources, key)
			}
		}
	}
	if len(a.sources) >= maxSources {
		from = netip.Prefix{}
		if f := a.sources[from]; f != nil {
			return f
		}
	}
	f := &failures{first: now}
	a.sources[from] = f
	return f
}
