package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// ReplaceFile puts a file in the place of another, whole or not at all: whoever reads the path, at any
// moment and after any crash, finds the old content or the new. The new one has reached the disk when it
// returns. What a crash leaves in the directory of a Store is removed when that is opened.
func ReplaceFile(path string, data []byte, mode fs.FileMode) error {
	return replaceAs(path, data, mode, nil, true)
}

// replaceSoon is ReplaceFile that does not wait for the disk: a killed process leaves the old content or the new, a
// machine that loses power perhaps neither.
func replaceSoon(path string, data []byte, mode fs.FileMode) error {
	return replaceAs(path, data, mode, nil, false)
}

// replaceAs is ReplaceFile for a file that has the owner of another one, as far as we may give files away.
func replaceAs(path string, data []byte, mode fs.FileMode, like fs.FileInfo, wait bool) (err error) {
	dir, base := filepath.Split(path)
	f, err := os.CreateTemp(filepath.Clean(dir), "."+base+".*"+unfinished)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // the first error is the one to tell
			_ = os.Remove(f.Name())
		}
	}()
	if like != nil {
		takeOwner(f, like)
	}
	if err = f.Chmod(mode); err != nil {
		return err
	}
	if _, err = f.Write(data); err != nil {
		return err
	}
	if wait {
		if err = f.Sync(); err != nil {
			return err
		}
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil || !wait {
		return err
	}
	return syncDir(dir)
}

// syncFile makes a file's content reach the disk.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// unfinished ends the name of a file that is being written, until it is whole. The name begins with a dot
// and that of the file that it will be.
const unfinished = ".tmp"

func isUnfinished(name, base string) bool {
	return strings.HasPrefix(name, "."+base+".") && strings.HasSuffix(name, unfinished)
}

// syncDir makes a rename reach the disk. Windows knows no such thing.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// sweep removes what writes left behind that a crash has cut off: temporary files of base that are older
// than before.
func sweep(dir, base string, before time.Time) {
	entries, _ := os.ReadDir(dir) // a sweep that cannot be made is no reason to fail
	for _, e := range entries {
		if !isUnfinished(e.Name(), base) {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// SweepFile removes what crashes have left of writes of a configuration file that were never finished. It is for a
// moment at which nobody writes: the start.
func SweepFile(path string) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		dir, base := filepath.Split(target)
		sweep(filepath.Clean(dir), base, time.Now().Add(time.Hour))
	}
}

// WriteFile replaces a configuration file: at any moment, and after any crash, the path holds the old
// content or the new. It follows symbolic links, so that a link stays one, and keeps mode and, as far as it
// may, owner. Other hard links keep the old content. The error says what can be done.
func WriteFile(path string, data []byte) error {
	target, like, err := existing(path)
	mode := fs.FileMode(0o600) // it may hold hashes of keys
	if like != nil {
		mode = like.Mode().Perm()
	}
	if err == nil {
		err = replaceAs(target, data, mode, like, true)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w; %s", path, err, remedy(err, "change the file where it comes from, or let the gateway's user write it and its directory"))
	}
	if info, err := os.Stat(target); err == nil {
		dir, base := filepath.Split(target)
		sweep(filepath.Clean(dir), base, info.ModTime().Add(-time.Minute))
	}
	return nil
}

// existing finds the file that a path means in the end, and asks whether it may be written; like is nil
// where there is none yet.
func existing(path string) (target string, like fs.FileInfo, err error) {
	target, err = filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, dangling := os.Lstat(path); dangling == nil {
			return "", nil, errors.New("it is a link to a file that is not there")
		}
		return path, nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	if like, err = os.Stat(target); err != nil {
		return "", nil, err
	}
	if !like.Mode().IsRegular() {
		return "", nil, errors.New("it is no regular file")
	}
	// A rename asks the directory alone, and would replace a file that its owner has protected.
	f, err := os.OpenFile(target, os.O_WRONLY, 0)
	if err != nil {
		return "", nil, err
	}
	return target, like, f.Close()
}

// remedy says what to do about a write that failed, or else what is given.
func remedy(err error, otherwise string) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "the disk is full: make room"
	case errors.Is(err, syscall.EBUSY), errors.Is(err, syscall.EXDEV):
		return "the file is mounted by itself and cannot be replaced: mount the directory that it is in"
	}
	return otherwise
}
