package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// What the files of a Store are called, and what stands in them: JSON, so that they can be read and, the
// overrides, corrected by hand.

const overridesFile = "overrides.json"

// overridesOnDisk has room for more beside the list.
type overridesOnDisk struct {
	Overrides []Override `json:"overrides"`
}

// maxStored bounds what is read back, in bytes: the text of a version is at most MaxFile and the diff twice
// that, and JSON may take six bytes for one.
const maxStored = 3*6*MaxFile + 4<<20

func (s *Store) path(number int) string {
	return filepath.Join(s.dir, "version-"+strconv.Itoa(number)+".json")
}

// maxNumber is far above what any gateway comes to. A file with a larger number is none of ours: none could follow it.
const maxNumber = 1 << 30

// versionNumber reads the number from a file's name.
func versionNumber(name string) (int, bool) {
	text, ok1 := strings.CutPrefix(name, "version-")
	text, ok2 := strings.CutSuffix(text, ".json")
	n, err := strconv.Atoi(text)
	return n, ok1 && ok2 && err == nil && n > 0 && n <= maxNumber && strconv.Itoa(n) == text
}

// isLeftover says that a file was being written when a crash came.
func isLeftover(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, unfinished)
}

func readVersion(path string, number int) (Version, error) {
	data, err := ReadKept(path, maxStored)
	if err != nil {
		return Version{}, err
	}
	return decodeVersion(data, number)
}

// decodeVersion reads a version and holds it against the number of its file and the hash of its text.
func decodeVersion(data []byte, number int) (v Version, err error) {
	if err = json.Unmarshal(data, &v); err != nil {
		return Version{}, damage(data, err)
	}
	if v.Number != number {
		return Version{}, fmt.Errorf("it holds version %d", v.Number)
	}
	if v.Hash != hashOf(v.Text) {
		return Version{}, errors.New("its text is not the one that was kept: the hash differs")
	}
	return v, nil
}

// KeptOverrides reads the overrides that a gateway keeps in its state directory, and changes nothing there. None
// are no error, nor is a directory that is not there.
func KeptOverrides(dir string) ([]Override, error) {
	overrides, err := readOverrides(filepath.Join(dir, overridesFile))
	if err != nil {
		return nil, fmt.Errorf("cannot read the overrides in %s: %w", dir, err)
	}
	return overrides, nil
}

// readOverrides reads the overrides; there are none where there is no file.
func readOverrides(path string) ([]Override, error) {
	data, err := ReadKept(path, maxStored)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var o overridesOnDisk
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, damage(data, err)
	}
	return o.Overrides, nil
}

// damage words what is wrong with the content of a file.
func damage(data []byte, err error) error {
	if len(data) == 0 {
		return errors.New("it is empty")
	}
	return fmt.Errorf("not readable: %w", err)
}

// ReadKept reads a file of at most so many bytes that an earlier run has kept: a regular one and nothing else, since a pipe would
// be waited for without end.
func ReadKept(path string, most int64) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it is larger than %d MiB", most>>20)
	}
	return data, err
}

func encode(content any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(content); err != nil {
		return nil, fmt.Errorf("cannot write it as JSON: %w", err)
	}
	return b.Bytes(), nil
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
