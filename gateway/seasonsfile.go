package gateway

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"tidegate/detector"
	"tidegate/gateway/config"
)

// seasonsFile is the file of seasons in state.dir: lines of JSON, compressed, replaced whole. It is written some
// minutes after something was learned, which mostly is once an hour, and at the end. It belongs to one goroutine; its
// trouble may be asked for by any.
type seasonsFile struct {
	path    string // empty: nothing is kept
	changed bool
	next    time.Time // not before then
	trouble
}

// seasonsEvery is the shortest time between two writes: one of 10,000 seasons takes a quarter of a second of one core.
const seasonsEvery = 10 * time.Minute

// seasonsHead is the first line of the file; one for each flow follows.
type seasonsHead struct {
	Format int `json:"seasons"`
	Flows  int `json:"flows"`
}

const (
	seasonsFormat  = 1
	mostSeasonLine = 64 << 10 // bytes
)

// seasonLine is one flow's.
type seasonLine struct {
	Caller   string `json:"caller"`
	Semantic string `json:"semantic"`
	Route    string `json:"route,omitempty"`
	Tenant   string `json:"tenant,omitempty"`
	Seen     int64  `json:"seen"` // hours since 1970
	Season   []byte `json:"season"`
}

// tick writes the file when it is time.
func (f *seasonsFile) tick(now time.Time, table map[flowNames]*keptSeason, log *logs) {
	if f.path == "" || !f.changed || now.Before(f.next) {
		return
	}
	f.close(now, table, log)
}

// close writes what has changed, now. A failure is said once, until it works again.
func (f *seasonsFile) close(now time.Time, table map[flowNames]*keptSeason, log *logs) {
	if f.path == "" || !f.changed {
		return
	}
	f.next = now.Add(seasonsEvery)
	data, err := encodeSeasons(table)
	if err == nil {
		err = config.ReplaceFile(f.path, data, 0o600)
	}
	if f.note(now, err) && err != nil {
		log.Error("seasons", zap.Error(fmt.Errorf("cannot keep the seasons: %w", err)),
			zap.String("remedy", "make state.dir writable; until then a restart forgets what hours are usual"))
	}
	f.changed = err != nil
}

func encodeSeasons(table map[flowNames]*keptSeason) ([]byte, error) {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	lines := json.NewEncoder(zip)
	if err := lines.Encode(seasonsHead{seasonsFormat, len(table)}); err != nil {
		return nil, err
	}
	var raw []byte
	for name, k := range table {
		if raw, err = k.season.AppendBinary(raw[:0]); err != nil {
			return nil, err
		}
		if err := lines.Encode(seasonLine{name.caller, name.semantic, name.route, name.tenant, k.seen, raw}); err != nil {
			return nil, err
		}
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// open reads what the last run has kept. A file that is damaged is set aside, and what could be read of it is taken.
func (s *seasons) open(dir string, now time.Time, log *logs) {
	s.file.path = seasonsIn(dir)
	err := s.read(s.file.path, now)
	switch {
	case err == nil:
		log.Info("seasons", zap.Int("flows", len(s.table)))
	case errors.Is(err, fs.ErrNotExist):
	default:
		aside := s.file.path + ".damaged"
		s.file.changed = true
		fields := []zap.Field{zap.Error(err), zap.Int("read", len(s.table)), zap.String("set_aside", aside)}
		if moved := os.Rename(s.file.path, aside); moved != nil {
			fields = append(fields, zap.NamedError("not_set_aside", moved))
		}
		log.Error("seasons", fields...)
	}
	s.pooled = now
	s.shape(now)
}

func (s *seasons) read(path string, now time.Time) error {
	file, err := openKept(path)
	if err != nil {
		return fmt.Errorf("cannot read the seasons: %w", err)
	}
	defer file.Close()
	if err := readSeasons(file, func(line *seasonLine, season *detector.Season) {
		s.put(flowNames{line.Caller, line.Semantic, line.Route, line.Tenant}, season, min(line.Seen, hourOf(now)))
	}); err != nil {
		return fmt.Errorf("cannot read the seasons: %w", err)
	}
	return nil
}

// readSeasons reads a file of seasons until its end or the first thing that is wrong.
func readSeasons(r io.Reader, each func(*seasonLine, *detector.Season)) error {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(zip)
	lines.Buffer(nil, mostSeasonLine)
	var head seasonsHead
	if !lines.Scan() {
		return cmp.Or(lines.Err(), io.ErrUnexpectedEOF)
	}
	if err := json.Unmarshal(lines.Bytes(), &head); err != nil {
		return err
	}
	if head.Format != seasonsFormat {
		return fmt.Errorf("their format is %d, and this program's is %d", head.Format, seasonsFormat)
	}
	n := 0
	for lines.Scan() {
		var line seasonLine
		var season detector.Season
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return err
		}
		if err := season.UnmarshalBinary(line.Season); err != nil {
			return err
		}
		if n++; n > head.Flows || n > 2*mostSeasons {
			return errors.New("there are more than it says")
		}
		each(&line, &season)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if n < head.Flows {
		return fmt.Errorf("there are %d of %d", n, head.Flows)
	}
	return nil
}

func seasonsIn(dir string) string { return filepath.Join(dir, "seasons.json.gz") }
