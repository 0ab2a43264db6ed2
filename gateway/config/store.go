package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// KeptVersions is how many versions a Store keeps.
const KeptVersions = 20

// Store keeps, in a directory of its own, the configurations that were live and the overrides. Each of
// them is a file that is replaced whole, so that it can be read after a crash at any moment. Safe for
// concurrent use: reading never waits for a disk. One process at a time has a directory.
type Store struct {
	dir       string
	versions  atomic.Pointer[[]Version] // newest first
	overrides atomic.Pointer[[]Override]

	writing       sync.Mutex // one write after the other; readers need none
	numbers       []int      // of the files, damaged ones too
	unsynced      []string   // files of versions that may not have reached the disk
	replace, soon func(path string, data []byte, mode fs.FileMode) error
}

// OpenStore reads what a directory holds, and makes it (0700) if there is none. Files that cannot be read
// are passed over, and each gives one of damaged. If the overrides are among them, those of the newest version
// are taken in their place. The error says why there is no store, and what to do.
func OpenStore(dir string) (s *Store, damaged []error, err error) {
	if err = os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("cannot make the directory of the state: %w; %s", err, remedy(err, elsewhere))
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the directory of the state: %w; %s", err, elsewhere)
	}
	s = &Store{dir: dir, replace: ReplaceFile, soon: replaceSoon}
	for _, e := range entries {
		if isLeftover(e.Name()) {
			_ = os.Remove(filepath.Join(dir, e.Name())) // it was never whole; if it stays, it does no harm
			continue
		}
		if number, ok := versionNumber(e.Name()); ok {
			s.numbers = append(s.numbers, number)
		}
	}
	slices.Sort(s.numbers)
	var versions []Version
	for _, number := range slices.Backward(s.numbers) {
		if len(versions) == KeptVersions {
			break // older ones are only waiting to be removed
		}
		v, err := readVersion(s.path(number), number)
		if err != nil {
			damaged = append(damaged, fmt.Errorf("%s is passed over: %w", s.path(number), err))
			continue
		}
		versions = append(versions, v)
	}
	s.versions.Store(&versions)

	overrides, err := readOverrides(filepath.Join(dir, overridesFile))
	if err != nil {
		err = fmt.Errorf("%s is passed over: %w", filepath.Join(dir, overridesFile), err)
		if len(versions) > 0 {
			overrides = versions[0].Overrides
			err = fmt.Errorf("%w; the %d overrides of version %d are taken", err, len(overrides), versions[0].Number)
		}
		damaged = append(damaged, err)
	}
	s.overrides.Store(&overrides)
	return s, damaged, nil
}

// elsewhere is the remedy for a directory that cannot be used.
const elsewhere = "let the gateway's user write there, or set state.dir to another place"

// Versions returns what is kept, newest first, at most KeptVersions. What it holds is not to be written.
func (s *Store) Versions() []Version { return slices.Clone(*s.versions.Load()) }

// Version returns one of those kept.
func (s *Store) Version(number int) (Version, bool) {
	for _, v := range *s.versions.Load() {
		if v.Number == number {
			return v, true
		}
	}
	return Version{}, false
}

// Next is the number for the next version: above all that the directory has had, damaged ones too.
func (s *Store) Next() int {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.highest() + 1
}

func (s *Store) highest() int {
	if len(s.numbers) == 0 {
		return 0
	}
	return slices.Max(s.numbers)
}

// Keep adds a version, whose number is above all before it, and drops the oldest past KeptVersions. It
// fills in Diff, against the version before, and Hash if that is empty. When it fails, nothing has changed.
// It does not wait for the disk: what it keeps outlives the process at once, and a loss of power after Flush.
func (s *Store) Keep(v Version) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if highest := s.highest(); v.Number <= highest {
		return fmt.Errorf("cannot keep version %d: there was a version %d already, and numbers only grow", v.Number, highest)
	}
	if !utf8.ValidString(v.Text) {
		return fmt.Errorf("cannot keep version %d: its text is not UTF-8", v.Number)
	}
	sum := hashOf(v.Text)
	if v.Hash == "" {
		v.Hash = sum
	}
	if v.Hash != sum {
		return fmt.Errorf("cannot keep version %d: its hash is %s, that of its text %s", v.Number, v.Hash, sum)
	}
	before := *s.versions.Load()
	v.Diff, v.Time, v.Overrides = "", v.Time.Round(0), append([]Override{}, v.Overrides...)
	if len(before) > 0 {
		v.Diff = DiffText(before[0].Text, v.Text, before[0].Overrides, v.Overrides)
	}
	if err := writeAs(s.soon, s.path(v.Number), v); err != nil {
		return fmt.Errorf("cannot keep version %d: %w", v.Number, err)
	}
	s.unsynced = append(s.unsynced, s.path(v.Number))
	s.numbers = append(s.numbers, v.Number)
	after := append([]Version{v}, before...)
	after = after[:min(len(after), KeptVersions)]
	s.versions.Store(&after)
	if len(after) == KeptVersions {
		s.drop(after[KeptVersions-1].Number)
	}
	return nil
}

// drop removes the files of versions below the oldest one that is kept. One that cannot be removed is
// tried again with the next version.
func (s *Store) drop(oldest int) {
	s.numbers = slices.DeleteFunc(s.numbers, func(number int) bool {
		return number < oldest && os.Remove(s.path(number)) == nil
	})
}

// Overrides returns those that are kept, in their order.
func (s *Store) Overrides() []Override { return slices.Clone(*s.overrides.Load()) }

// SetOverrides replaces all that are kept. When it fails, nothing has changed.
func (s *Store) SetOverrides(list []Override) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	list = append([]Override{}, list...) // an empty list is [] on disk, not null
	if err := writeAs(s.replace, filepath.Join(s.dir, overridesFile), overridesOnDisk{list}); err != nil {
		return fmt.Errorf("cannot keep the overrides: %w", err)
	}
	s.overrides.Store(&list)
	return nil
}

// Flush waits until the versions that are kept have reached the disk. It is meant to be called now and then: ten
// changes a second that each waited would keep the disk, and all who share it, busy with little else.
func (s *Store) Flush() error {
	s.writing.Lock()
	paths := s.unsynced
	s.unsynced = nil
	s.writing.Unlock()
	if len(paths) == 0 {
		return nil
	}
	for _, path := range paths {
		if err := syncFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // dropped meanwhile
			return fmt.Errorf("cannot flush the versions: %w; %s", err, remedy(err, elsewhere))
		}
	}
	if err := syncDir(s.dir); err != nil {
		return fmt.Errorf("cannot flush the versions: %w; %s", err, remedy(err, elsewhere))
	}
	return nil
}

func writeAs(replace func(string, []byte, fs.FileMode) error, path string, content any) error {
	data, err := encode(content)
	if err != nil {
		return err
	}
	if err = replace(path, data, 0o600); err != nil {
		return fmt.Errorf("%w; %s", err, remedy(err, elsewhere))
	}
	return nil
}
