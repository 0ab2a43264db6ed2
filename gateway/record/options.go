package record

import (
	"errors"
	"fmt"
	"time"
)

// Options says where a trace goes and how much of it is kept.
type Options struct {
	Dir       string        // made if it is not there, 0700
	MaxBytes  int64         // of all files together; the oldest go first. At least MinBytes
	FileBytes int64         // a file is closed before it exceeds them; above 0. At most half of MaxBytes is used
	FileSpan  time.Duration // a file is closed when it is so old; above 0
	Failed    func(error)   // told of what goes wrong after Open, at most once a minute; nil: nobody is told. Must not change or close the Recorder
}

// MinBytes is the smallest bound of all files: room for two batches of usual lines. With so small a bound, a batch of very
// long names may not fit, and is dropped.
const MinBytes = 64 << 10

func (o Options) check() error {
	var problems []error
	if o.Dir == "" {
		problems = append(problems, errors.New("dir is empty; give a directory"))
	}
	if o.MaxBytes < MinBytes {
		problems = append(problems, fmt.Errorf("max_bytes = %d: must be at least %d (64KiB)", o.MaxBytes, MinBytes))
	}
	if o.FileBytes <= 0 {
		problems = append(problems, fmt.Errorf("file_bytes = %d: must be above 0", o.FileBytes))
	}
	if o.FileSpan <= 0 {
		problems = append(problems, fmt.Errorf("file_span = %v: must be above 0", o.FileSpan))
	}
	return errors.Join(problems...)
}

// fileBytes leaves room for a second file, so that there is always one that can go.
func (o Options) fileBytes() int64 { return min(o.FileBytes, o.MaxBytes/2) }

// Stats counts since Open.
type Stats struct {
	Written uint64 // entries that are in a file
	Dropped uint64 // entries that are not: the disk was slow, full or gone, or the Recorder was closed
	Files   int    // in the directory
	Bytes   int64  // of those
}
