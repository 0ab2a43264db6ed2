package record

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestARequestIsALineTwoSecondsAfterItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		r := opened(t, options(dir))
		at := time.Now()
		r.Add(&Entry{
			At: at, Caller: "acme", Semantic: "chat", Route: "v1", Tenant: []byte("berlin"), Cost: 2, Bytes: 1840,
			Seat: 41203 * time.Microsecond, Outcome: "served",
		})
		r.Add(&Entry{At: at.Add(2 * time.Millisecond), Caller: "acme", Semantic: "chat", Route: "v1", Cost: 1, Outcome: "refused", Code: "queue_full"})
		r.Add(&Entry{At: at.Add(3 * time.Millisecond), Outcome: "upstream_error", Code: "upstream_error"})
		if got := names(t, dir); len(got) != 0 {
			t.Fatalf("there is a file before there is an entry: %q", got)
		}
		time.Sleep(flushAfter)
		synctest.Wait()
		hash := r.key.tenantHash("acme", []byte("berlin"))
		want := Header + "\n" +
			fmt.Sprintf("946684800000,acme,chat,1840,v1,%012x,2,41.203,served\n", hash) +
			"946684800002,acme,chat,0,v1,,1,0,refused:queue_full\n" +
			"946684800003,,,0,,,0,0,upstream_error\n"
		if got := text(t, dir); got != want {
			t.Errorf("\n%s\nwant\n%s", got, want)
		}
		if s := r.Stats(); s.Written != 3 || s.Dropped != 0 || s.Files != 1 || s.Bytes == 0 {
			t.Errorf("%+v", s)
		}
	})
}
