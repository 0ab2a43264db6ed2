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
	return a.lockedForLocked(from, now)
}

func (a *attempts) lockedForLocked(from netip.Prefix, now time.Time) time.Duration {
	f := a.sources[from]
	if f == nil && len(a.sources) >= maxSources {
		f = a.sources[netip.Prefix{}]
	}
	if f == nil || f.count < maxAttempts {
		return 0
	}
	return max(0, f.first.Add(attemptSpan).Sub(now))
}

// judged is what becomes of a token that was looked at.
type judged struct {
	wait    time.Duration // above 0: its address is not listened to, whatever the token is worth
	counted bool          // it is wrong, and another one than the last
	locks   bool          // its address is locked out by it
}

// judge counts a token if it is a wrong one. Whether its address is listened to is asked in the same moment: many
// guesses may be under way at once, and no more of them are answered than one after another.
func (a *attempts) judge(from netip.Prefix, sum [sha256.Size]byte, known bool, now time.Time) judged {
	a.mu.Lock()
	defer a.mu.Unlock()
	if wait := a.lockedForLocked(from, now); wait > 0 {
		return judged{wait: wait}
	}
	if known {
		return judged{}
	}
	f := a.of(from, now)
	if now.Sub(f.first) >= attemptSpan {
		*f = failures{first: now}
	}
	if f.count > 0 && f.last == sum {
		return judged{}
	}
	f.count++
	f.last = sum
	return judged{counted: true, locks: f.count == maxAttempts}
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
