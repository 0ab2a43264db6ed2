package registration

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tidegate/gateway/config"
)

// FileName is what the file is called in the directory of the state.
const FileName = "registrations.json"

// asideName is what a file is called that could not be read.
const asideName = FileName + ".damaged"

// keeper brings registrations to the disk. One writes at a time, and takes with it all that has changed until then: a
// thousand callers who ask at once cost a few writes.
type keeper struct {
	path    string                                                 // "": nothing is kept
	writing chan struct{}                                          // holds one: whoever has taken it writes
	replace func(path string, data []byte, mode fs.FileMode) error // config.ReplaceFile
	said    func(error)                                            // of the first failure after a success, and nil for the reverse; may be nil

	mu      sync.Mutex
	kept    uint64 // changes that are on the disk
	aside   bool   // what stands under the name could not be read, and is to be set aside before it is replaced
	trouble error  // of the last write; nil: it went well
	since   time.Time
	tried   time.Time // when the last write failed
}

// retryAfter is how long a disk that has failed is left alone.
const retryAfter = time.Second

// Options are what a registry is made of.
type Options struct {
	Dir    string      // of the state; "": nothing is kept
	Config Config      // in force
	Said   func(error) // told when keeping fails for the first time and, with nil, when it works again; may be nil
	// Replace writes a file whole or not at all; nil: config.ReplaceFile. For tests.
	Replace func(path string, data []byte, mode fs.FileMode) error
}

// Open makes a registry of what is kept. It never fails: odd says what could not be read, and such a file is set
// aside under another name before it is replaced, so that nothing in it is lost.
func Open(o Options) (r *Registry, odd []error) {
	r = &Registry{config: o.Config, callers: map[string]*ofCaller{}}
	r.keeper = keeper{writing: make(chan struct{}, 1), replace: o.Replace, said: o.Said}
	if o.Replace == nil {
		r.keeper.replace = config.ReplaceFile
	}
	if o.Dir == "" {
		return r, nil
	}
	r.keeper.path = filepath.Join(o.Dir, FileName)
	list, odd := readFile(r.keeper.path)
	for _, reg := range list {
		of := r.callers[reg.Caller]
		switch {
		case of.get(reg.Semantic) != nil:
			odd = append(odd, fmt.Errorf("%s of %s is there twice; the first is taken", reg.Semantic, reg.Caller))
			continue
		case of != nil && len(of.by) >= MaxPerCaller:
			odd = append(odd, fmt.Errorf("%s of %s is one more than the %d that a caller may have", reg.Semantic, reg.Caller, MaxPerCaller))
			continue
		}
		if of == nil {
			of = &ofCaller{by: map[string]*Registration{}}
			r.callers[reg.Caller] = of
		}
		of.by[reg.Semantic] = reg
		r.all++
	}
	if len(odd) > 0 {
		r.keeper.aside = true
		r.changes = 1 // the next Keep sets the file aside, and writes what could be read of it
		for i, err := range odd {
			odd[i] = fmt.Errorf("%s: %w; the file is kept as %s", r.keeper.path, err, asideName)
		}
	}
	r.Apply(o.Config)
	return r, odd
}

// Keeps says that registrations outlive the process, while the disk is well.
func (r *Registry) Keeps() bool { return r.keeper.path != "" }

// Keep brings all that has changed to the disk, and waits for that at most as long as given. It says whether all
// that had changed before the call has reached the disk; if not, it is in force all the same, and a later Keep brings
// it there. A disk that fails is asked once a second.
func (r *Registry) Keep(wait time.Duration) bool { return r.keep(wait, false) }

// KeepLast is Keep for the end, when there will be no later one: the disk is asked however short ago it failed.
func (r *Registry) KeepLast(wait time.Duration) bool { return r.keep(wait, true) }

func (r *Registry) keep(wait time.Duration, last bool) bool {
	k := &r.keeper
	if k.path == "" {
		return false
	}
	r.mu.Lock()
	wanted := r.changes
	r.mu.Unlock()
	if k.has(wanted) {
		return true
	}
	select {
	case k.writing <- struct{}{}:
	default:
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case k.writing <- struct{}{}:
		case <-timer.C:
			return false
		}
	}
	defer func() { <-k.writing }()
	if k.has(wanted) { // whoever wrote before has taken it along
		return true
	}
	now := time.Now()
	if !last && k.rests(now) {
		return false
	}
	list, changes := r.list()
	k.wrote(now, changes, k.write(list))
	return k.has(wanted)
}

// Trouble is since when writes fail, and why the last one did; nil: all is well.
func (r *Registry) Trouble() (since time.Time, err error) {
	r.keeper.mu.Lock()
	defer r.keeper.mu.Unlock()
	return r.keeper.since, r.keeper.trouble
}

// list is everything in a fixed order, and how many changes are in it.
func (r *Registry) list() ([]*Registration, uint64) {
	r.mu.Lock()
	list := make([]*Registration, 0, r.all)
	for _, of := range r.callers {
		for _, reg := range of.by {
			list = append(list, reg)
		}
	}
	changes := r.changes
	r.mu.Unlock()
	slices.SortFunc(list, func(a, b *Registration) int {
		if order := strings.Compare(a.Caller, b.Caller); order != 0 {
			return order
		}
		return strings.Compare(a.Semantic, b.Semantic)
	})
	return list, changes
}

func (k *keeper) has(changes uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kept >= changes
}

func (k *keeper) rests(now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.trouble != nil && now.Sub(k.tried) < retryAfter
}

// write is called by one at a time.
func (k *keeper) write(list []*Registration) error {
	if k.aside {
		if err := os.Rename(k.path, filepath.Join(filepath.Dir(k.path), asideName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot set the damaged file of registrations aside: %w", err)
		}
		k.aside = false
	}
	data, err := encode(list)
	if err == nil {
		err = k.replace(k.path, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot keep the registrations: %w", err)
	}
	return nil
}

// wrote notes how a write went, and says it where that has changed.
func (k *keeper) wrote(now time.Time, changes uint64, err error) {
	k.mu.Lock()
	was := k.trouble
	k.trouble = err
	if err == nil {
		k.kept, k.since = changes, time.Time{}
	} else {
		k.tried = now
		if was == nil {
			k.since = now
		}
	}
	k.mu.Unlock()
	if k.said != nil && (was == nil) != (err == nil) {
		k.said(err)
	}
}
