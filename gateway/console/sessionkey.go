package console

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"

	"tidegate/gateway/config"
)

const (
	sessionFile = "session.key"
	keySize     = 32
	maxEnded    = 1000 // sessions that were logged out of and would last still
)

// sessions has the key that seals them, and which were logged out of. Both are kept in one file, so that
// a restart neither logs anybody out nor lets anybody in again. While the file cannot be read or written
// they are in memory only. Safe for concurrent use; made by newSessions.
type sessions struct {
	path string // "": nothing is kept
	log  *zap.Logger

	replace func(path string, data []byte, mode fs.FileMode) error // config.ReplaceFile but in tests
	writing sync.Mutex                                             // one at a time reads or writes the file, in the order of what is kept; taken before mu

	mu    sync.Mutex              // never held over the disk: each request with a cookie takes it
	key   []byte                  // nil: not needed so far
	ended map[sessionID]time.Time // and when they would have
}

func newSessions(dir string, log *zap.Logger) *sessions {
	s := &sessions{log: log, replace: config.ReplaceFile}
	if dir != "" {
		s.path = filepath.Join(dir, sessionFile)
	}
	return s
}

// keptSessions is the file.
type keptSessions struct {
	Key   string               `json:"key"`
	Ended map[string]time.Time `json:"ended"`
}

// sealingKey is read or made when it is first needed.
func (s *sessions) sealingKey() []byte {
	if key := s.known(); key != nil {
		return key
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.begin()
	return s.known()
}

func (s *sessions) known() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.key
}

// begin reads or makes the key unless it is there. Its caller is the one who writes.
func (s *sessions) begin() {
	if s.known() != nil {
		return
	}
	if s.path != "" {
		key, ended, err := readSessions(s.path)
		if err == nil {
			s.mu.Lock()
			s.key, s.ended = key, ended
			s.mu.Unlock()
			return
		}
		if !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("sessions", zap.Error(fmt.Errorf("cannot read the key of sessions: %w; whoever was logged in has to log in again", err)))
		}
	}
	s.mu.Lock()
	s.renewLocked()
	kept := s.keptLocked()
	s.mu.Unlock()
	s.save(kept)
}

func (s *sessions) renewLocked() {
	s.key = make([]byte, keySize)
	rand.Read(s.key)
	s.ended = map[sessionID]time.Time{}
}

// lasts says that a session neither is over nor was logged out of.
func (s *sessions) lasts(who visitor, now time.Time) bool {
	if !now.Before(who.until) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, out := s.ended[who.session]
	return !out
}

// end logs out of a session, at once, and returns when that is kept. When too many are remembered a new key ends all.
func (s *sessions) end(who visitor, now time.Time) {
	s.sealingKey()
	s.mu.Lock()
	s.ended[who.session] = who.until // also while another is being written
	s.mu.Unlock()
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	for id, until := range s.ended {
		if !now.Before(until) {
			delete(s.ended, id)
		}
	}
	if len(s.ended) > maxEnded {
		s.renewLocked()
	}
	s.ended[who.session] = who.until // a new key has forgotten all
	kept := s.keptLocked()
	s.mu.Unlock()
	s.save(kept)
}

func (s *sessions) keptLocked() keptSessions {
	kept := keptSessions{Key: hex.EncodeToString(s.key), Ended: map[string]time.Time{}}
	for id, until := range s.ended {
		kept.Ended[hex.EncodeToString(id[:])] = until
	}
	return kept
}

// save waits for the disk, so its caller holds writing and not mu.
func (s *sessions) save(kept keptSessions) {
	if s.path == "" {
		return
	}
	text, err := json.Marshal(kept)
	if err == nil {
		err = s.replace(s.path, append(text, '\n'), 0o600)
	}
	if err != nil {
		s.log.Warn("sessions", zap.Error(fmt.Errorf("cannot keep the key of sessions: %w; after a restart everybody has to log in again", err)))
	}
}

func readSessions(path string) (key []byte, ended map[sessionID]time.Time, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	return parseSessions(text)
}

func parseSessions(text []byte) (key []byte, ended map[sessionID]time.Time, err error) {
	var kept keptSessions
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, nil, fmt.Errorf("cannot decode: %w", err)
	}
	if key, err = hex.DecodeString(kept.Key); err != nil || len(key) != keySize {
		return nil, nil, fmt.Errorf("the key is not %d bytes in hex", keySize)
	}
	ended = map[sessionID]time.Time{}
	for name, until := range kept.Ended {
		var id sessionID
		b, err := hex.DecodeString(name)
		if err != nil || len(b) != len(id) {
			return nil, nil, fmt.Errorf("%.40q is no session", name)
		}
		copy(id[:], b)
		ended[id] = until
	}
	return key, ended, nil
}
