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
// they are in memory only. Safe for concurrent use; the zero value but for log keeps nothing.
type sessions struct {
	path string // "": nothing is kept
	log  *zap.Logger

	mu    sync.Mutex
	key   []byte                  // nil: not needed so far
	ended map[sessionID]time.Time // and when they would have
}

func newSessions(dir string, log *zap.Logger) *sessions {
	s := &sessions{log: log}
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
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sealingKeyLocked()
}

func (s *sessions) sealingKeyLocked() []byte {
	if s.key != nil {
		return s.key
	}
	if s.path != "" {
		text, err := os.ReadFile(s.path)
		if err == nil {
			s.key, s.ended, err = parseSessions(text)
		}
		if err == nil {
			return s.key
		}
		if !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("sessions", zap.Error(fmt.Errorf("cannot read the key of sessions: %w; whoever was logged in has to log in again", err)))
		}
	}
	s.renewLocked()
	s.saveLocked()
	return s.key
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

// end logs out of a session. When too many are remembered a new key ends all.
func (s *sessions) end(who visitor, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealingKeyLocked()
	for id, until := range s.ended {
		if !now.Before(until) {
			delete(s.ended, id)
		}
	}
	if len(s.ended) >= maxEnded {
		s.renewLocked()
	}
	s.ended[who.session] = who.until
	s.saveLocked()
}

// saveLocked writes under the lock: logins and logouts are rare, and must be kept in their order.
func (s *sessions) saveLocked() {
	if s.path == "" {
		return
	}
	kept := keptSessions{Key: hex.EncodeToString(s.key), Ended: map[string]time.Time{}}
	for id, until := range s.ended {
		kept.Ended[hex.EncodeToString(id[:])] = until
	}
	text, err := json.Marshal(kept)
	if err == nil {
		err = config.ReplaceFile(s.path, append(text, '\n'), 0o600)
	}
	if err != nil {
		s.log.Warn("sessions", zap.Error(fmt.Errorf("cannot keep the key of sessions: %w; after a restart everybody has to log in again", err)))
	}
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
