package history

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// The database. Hours are in the order in which they come, so that a new one is written at the end and an old one goes in
// one piece. What a minute of all series is stands in one row, as it is only ever read whole, at a start.
var tables = []string{
	`CREATE TABLE series (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, name TEXT NOT NULL, part TEXT NOT NULL, day INTEGER NOT NULL) STRICT`,
	`CREATE TABLE seconds (minute INTEGER PRIMARY KEY, ran INTEGER NOT NULL, blocks BLOB NOT NULL) STRICT`,
	`CREATE TABLE minutes (minute INTEGER PRIMARY KEY, tally BLOB NOT NULL) STRICT`,
	`CREATE TABLE known (hour INTEGER PRIMARY KEY, minutes INTEGER NOT NULL) STRICT`,
	`CREATE TABLE hours (hour INTEGER NOT NULL, series INTEGER NOT NULL, block BLOB NOT NULL, PRIMARY KEY (hour, series)) STRICT, WITHOUT ROWID`,
}

const (
	format      = 1
	application = 0x74696465 // says in the file's head whose it is
	pageSize    = 4096
)

// disk is an open database: one connection writes, others read what was last written whole.
type disk struct {
	path           string
	file           os.FileInfo // to know it by
	writer, reader *sql.DB
	most           int64       // bytes that the file may have
	stuck          atomic.Bool // it panicked, and may hold locks: it is not closed
}

// errNotOurs is a database that is whole, and is not used all the same.
type errNotOurs struct{ why string }

func (e errNotOurs) Error() string { return e.why }

// openDisk opens the database, and makes it if create says so; else a missing one is fs.ErrNotExist.
func openDisk(path string, create bool) (*disk, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && create:
		// SQLite would let others read it.
		made, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		if info, err = made.Stat(); err != nil {
			made.Close()
			return nil, err
		}
		if err := made.Close(); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	}
	for _, name := range append([]string{path}, beside(path)...) {
		if i, err := os.Stat(name); err == nil && !i.Mode().IsRegular() {
			return nil, errNotOurs{filepath.Base(name) + " is no regular file"} // to open a pipe might be to wait for ever
		}
	}
	d := &disk{path: path, file: info, most: mostFile}
	if d.writer, err = sql.Open("sqlite", source(path, "_busy_timeout=2000&_auto_vacuum=incremental&_journal_mode=WAL&_synchronous=NORMAL&_txlock=immediate&_pragma=journal_size_limit(8388608)&_pragma=trusted_schema(0)")); err != nil {
		return nil, err
	}
	d.writer.SetMaxOpenConns(1)
	if d.reader, err = sql.Open("sqlite", source(path, "_busy_timeout=1000&_query_only=1&_pragma=trusted_schema(0)&_pragma=cache_size(-1024)")); err != nil {
		d.close()
		return nil, err
	}
	d.reader.SetMaxOpenConns(2)
	d.reader.SetMaxIdleConns(1)
	if err := d.check(); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func source(path, options string) string {
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: options}).String()
}

// beside are the files that SQLite keeps beside a database.
func beside(path string) []string { return []string{path + "-wal", path + "-shm", path + "-journal"} }

// check sees that the database is ours, and makes its tables where there is nothing.
func (d *disk) check() error {
	var app, version int
	if err := d.writer.QueryRow("PRAGMA application_id").Scan(&app); err != nil {
		return err
	}
	if err := d.writer.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	have, err := column[string](d.writer, "SELECT coalesce(sql, name) FROM sqlite_schema")
	if err != nil {
		return err
	}
	switch {
	case app == 0 && version == 0 && len(have) == 0:
		return d.create()
	case app != application:
		return errNotOurs{"it is another program's"}
	case version != format:
		return errNotOurs{fmt.Sprintf("its format is %d, and this program's is %d", version, format)}
	}
	slices.Sort(have)
	if want := slices.Sorted(slices.Values(tables)); !slices.Equal(have, want) {
		return errNotOurs{"its tables are not those of its format"}
	}
	return nil
}

func (d *disk) create() error {
	tx, err := d.writer.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	for _, statement := range append(slices.Clone(tables), fmt.Sprint("PRAGMA application_id = ", application), fmt.Sprint("PRAGMA user_version = ", format)) {
		if _, err := tx.Exec(statement); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// stays says whether the file is still the one that was opened, and not moved away with its directory.
func (d *disk) stays() bool {
	info, err := os.Stat(d.path)
	return err == nil && os.SameFile(info, d.file)
}

func (d *disk) close() {
	if d.reader != nil {
		d.reader.Close() // it has only read
	}
	if d.writer != nil {
		d.writer.Close() // all is in the log that is written anyway
	}
}

// setAside moves a damaged database out of the way, so that the next can be made. A directory that is in place of what was set
// aside before stays, unless it is empty.
func setAside(path string) (as string, err error) {
	as = path + ".damaged"
	for _, name := range beside(path) {
		// What is in them belongs to the damaged one; the next would take it for its own.
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return as, err
		}
	}
	if i, err := os.Lstat(as); err == nil && i.IsDir() {
		if err := os.Remove(as); err != nil {
			return as, err
		}
	}
	if err := os.Rename(path, as); err != nil && !errors.Is(err, fs.ErrNotExist) {
		if i, lstat := os.Lstat(path); lstat != nil || !i.IsDir() {
			return as, err
		}
		if os.Remove(as) != nil || os.Rename(path, as) != nil { // no directory replaces a file
			return as, err
		}
	}
	return as, nil
}

// damaged says whether an error is the file's fault and not the disk's.
func damaged(err error) bool {
	var of *sqlite.Error
	var not errNotOurs
	switch {
	case errors.As(err, &not), errors.Is(err, errMinute), errors.Is(err, errBlock):
		return true
	case !errors.As(err, &of):
		return false
	}
	switch of.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG:
		return true
	}
	return false
}

// full says whether an error is that there was no room, or that another process had the file, both of which pass.
func full(err error) bool {
	var of *sqlite.Error
	return errors.As(err, &of) && (of.Code()&0xff == sqlite3.SQLITE_FULL || of.Code()&0xff == sqlite3.SQLITE_BUSY)
}

// asker is a connection or a transaction.
type asker interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// column is the one column of an answer.
func column[T any](from asker, query string, args ...any) (all []T, err error) {
	err = rows(context.Background(), from, func(scan func(...any) error) error {
		var v T
		if err := scan(&v); err != nil {
			return err
		}
		all = append(all, v)
		return nil
	}, query, args...)
	return all, err
}

func rows(ctx context.Context, from asker, each func(scan func(...any) error) error, query string, args ...any) (err error) {
	found, err := from.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, found.Close()) }()
	for found.Next() {
		if err := each(found.Scan); err != nil {
			return err
		}
	}
	return found.Err()
}

// oneLine is an error without its line breaks.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
