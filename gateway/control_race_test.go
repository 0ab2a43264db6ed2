package gateway

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tidegate/gateway/console"
)

// A thousand write at once what each has made from the same text: one of them wins, the others are told, and what is kept tells
// who it was, each time.
func TestOfAThousandWhoWriteAtOnceOneWins(t *testing.T) {
	const writers, rounds = 1000, 5
	d := newDesk(t, basic)
	for round := range rounds {
		tag, before := d.etag(), d.onDisk()
		var won, told atomic.Int64
		var winner atomic.Int64
		var all sync.WaitGroup
		start := make(chan struct{})
		for i := range writers {
			text := []byte(fmt.Sprintf("# round %d, writer %d\n%s", round, i, hashed(basic)))
			all.Go(func() {
				<-start
				_, err := control{d.g}.Put(console.Change{Actor: fmt.Sprint(i)}, tag, text)
				var failure *console.Failure
				switch {
				case err == nil:
					won.Add(1)
					winner.Store(int64(i))
				case errors.As(err, &failure) && failure.Code == console.CodePrecondition && failure.ETag != tag:
					told.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		close(start)
		all.Wait()
		if won.Load() != 1 || told.Load() != writers-1 {
			t.Fatalf("round %d: %d won, %d were told", round, won.Load(), told.Load())
		}
		line := fmt.Sprintf("# round %d, writer %d\n", round, winner.Load())
		versions := d.control().Versions()
		v := versions[0]
		if d.onDisk() != line+hashed(basic) || v.Text != d.onDisk() || v.Number != round+2 || len(versions) != round+2 || v.Actor != fmt.Sprint(winner.Load()) ||
			!strings.Contains(v.Diff, "+"+line) || versions[1].Text != before {
			t.Errorf("round %d: version %d of %d by %s\n%s", round, v.Number, len(versions), v.Actor, v.Diff)
		}
	}
	// Each of them can be had back, byte for byte.
	for _, v := range d.control().Versions() {
		if _, err := d.control().Rollback(ops, "", v.Number); err != nil || d.onDisk() != v.Text {
			t.Errorf("back to version %d: %v", v.Number, err)
		}
	}
}
