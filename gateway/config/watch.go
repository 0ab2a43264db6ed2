package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"
)

const (
	// pollEvery finds what the system's notices miss: a target behind a symlink in another directory, a
	// network file system, a watch that is just being set up again. With patience it makes half a second.
	pollEvery = 200 * time.Millisecond
	// readEvery is how many polls pass between two looks at the content itself, for whatever leaves size
	// and time as they were.
	readEvery = 25
)

// Watcher tells when a configuration file has changed. Notices of the system make it fast, polling makes
// it sure, and the content's hash keeps the same bytes from being delivered twice.
type Watcher struct {
	path   string
	reload chan struct{}

	hash    string // of what was delivered last
	failure string // the error that was delivered last, "" after data

	// What the loop is made of, so that it can be driven without a file.
	read func() ([]byte, error)
	stat func() fileState
}

// NewWatcher watches path. Bytes whose hash is the given one (Config.Hash of what runs) are not news; ""
// if nothing has been loaded.
func NewWatcher(path, hash string) *Watcher {
	return &Watcher{
		path:   path,
		hash:   hash,
		reload: make(chan struct{}, 1),
		read:   func() ([]byte, error) { return ReadAgain(path) },
		stat:   func() fileState { return stateOf(path) },
	}
}

// Reload asks for the file to be read and delivered at once, even if its bytes are the ones delivered last:
// what a faulty load found missing may be there by now. It does not wait. Safe for concurrent use.
func (w *Watcher) Reload() {
	select {
	case w.reload <- struct{}{}:
	default: // one is waiting already, and will read what there is by then
	}
}

// Run calls changed with the bytes of the file whenever they have changed, until ctx is done. A file that
// is gone or cannot be read is an error, delivered once; the next bytes that can be read are delivered
// whether they are new or not. A file caught half-written fails to load, and is delivered again when it is
// whole. The calls come one after another, from Run's goroutine. Run may be called once.
func (w *Watcher) Run(ctx context.Context, changed func(data []byte, err error)) {
	notices := make(chan struct{}, 1)
	path, err := filepath.Abs(w.path)
	if err != nil {
		path = w.path
	}
	go notice(ctx, path, notices)
	w.loop(ctx, notices, changed)
}

// loop is Run without the system's notices.
func (w *Watcher) loop(ctx context.Context, notices <-chan struct{}, changed func([]byte, error)) {
	var pending debounce
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()

	w.deliver(changed, false) // what has changed since it was loaded
	seen := w.stat()
	for polls := 1; ; {
		select {
		case <-ctx.Done():
			return
		case <-w.reload:
			pending.done()
			timer.Stop()
			seen = w.stat()
			w.deliver(changed, true)
			continue
		case <-timer.C:
			pending.done()
			w.deliver(changed, false)
			continue
		case <-notices:
			seen = w.stat() // what the notice told of is no news to the next poll
		case <-poll.C:
			polls++
			now := w.stat()
			if now == seen && polls%readEvery != 0 {
				continue
			}
			seen = now
		}
		now := time.Now()
		pending.note(now)
		at, _ := pending.due()
		timer.Reset(at.Sub(now))
	}
}

// deliver reads the file and hands over what is news.
func (w *Watcher) deliver(changed func([]byte, error), always bool) {
	data, err := w.read()
	if err != nil {
		if always || err.Error() != w.failure {
			w.failure = err.Error()
			changed(nil, err)
		}
		return
	}
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	if hash == w.hash && w.failure == "" && !always {
		return
	}
	w.hash, w.failure = hash, ""
	changed(data, nil)
}

// fileState is what changes when a file does, and costs one system call to know.
type fileState struct {
	size     int64
	modified time.Time
	inode    uint64
}

// stateOf follows symlinks, so that a link that is turned to another file shows as well. A file that is
// not there has the zero state.
func stateOf(path string) fileState {
	info, err := os.Stat(path)
	if err != nil {
		return fileState{}
	}
	return fileState{size: info.Size(), modified: info.ModTime(), inode: inode(info)}
}
