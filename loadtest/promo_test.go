package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/stage"
	"tidegate/loadtest/upstream"
)

// brief is long enough for each check to see something.
var brief = timeline{warm: time.Second, quiet: 2 * time.Second, jump: 4 * time.Second, after: 2 * time.Second}

// playFake plays a brief incident in virtual time through the fake gateway, in memory.
func playFake(t *testing.T, fault func(*fakeGateway)) (report *Report) {
	synctest.Test(t, func(t *testing.T) {
		p, err := newPlayed(1, brief)
		if err != nil {
			t.Fatal(err)
		}
		behind, front := fasthttputil.NewInmemoryListener(), fasthttputil.NewInmemoryListener()
		sample := upstream.New(upstream.Options{Groups: poolGroups(p.cast)})
		go sample.Serve(behind)
		var text bytes.Buffer
		events := stage.NewLog(&text)
		gateway := newFakeGateway(p.cast, func(string) (net.Conn, error) { return behind.Dial() }, events)
		if fault != nil {
			fault(gateway)
		}
		server := &fasthttp.Server{Handler: gateway.handle, NoDefaultDate: true, Logger: log.New(io.Discard, "", 0)}
		go server.Serve(front)

		p.start, p.run.Results, err = openloop.Run(t.Context(), openloop.Plan{
			Arrivals: p.run.Arrivals, Requests: promoRequests(p.cast, "gateway"),
			Dial:     func(context.Context) (net.Conn, error) { return front.Dial() },
			MaxConns: maxConns, Grace: shortGrace,
		})
		if err != nil {
			t.Fatal(err)
		}
		p.surges = events.Surges()
		p.metrics = stage.Metrics{brokenMetric + `{semantic="chat"}`: 0}
		_, stats, err := gateway.forward.Get(nil, "http://upstream"+upstream.StatsPath)
		if err == nil {
			err = json.Unmarshal(stats, &p.counts)
		}
		if err != nil {
			t.Fatal(err)
		}
		report = newReport(p)
		time.Sleep(time.Minute) // what still waits is served
		gateway.forward.CloseIdleConnections()
		front.Close()
		behind.Close()
		time.Sleep(10 * time.Minute) // the servers' own goroutines run out
	})
	return report
}

// failing are the checks that failed, by the first words of their names.
func failing(r *Report) []string {
	var names []string
	for _, c := range r.Checks {
		if !c.Held {
			names = append(names, c.Name+": "+c.Figure)
		}
	}
	return names
}

func TestTheIncidentIsWonByAGatewayThatKeepsItsWord(t *testing.T) {
	r := playFake(t, nil)
	if r.Void != "" {
		t.Fatalf("void in virtual time: %s", r.Void)
	}
	if failed := failing(r); failed != nil {
		t.Errorf("%s", strings.Join(failed, "\n"))
	}
	spiderRow := r.Rows[slices.IndexFunc(r.Rows, func(row Row) bool { return row.Name == spider })].Whole
	if spiderRow.Refused["queue_full"] == 0 || spiderRow.Waited == 0 || spiderRow.GivenUp == 0 {
		t.Errorf("the offender must have waited, been refused, and been hung up at the end: %+v", spiderRow)
	}
}

func TestEachFaultOfAGatewayFailsItsOwnChecks(t *testing.T) {
	for _, step := range []struct {
		name  string
		fault func(*fakeGateway)
		want  []string // beginnings of the checks that must fail; no others may
	}{
		{"one queue for all", func(g *fakeGateway) { g.blind = true }, []string{"the VIP's p99", "spider-77 also gets"}},
		{
			"no seats, and the morning taken for a flood", func(g *fakeGateway) { g.unlimited, g.accusing = true, true },
			[]string{"spider-77 also gets", "in flight", "no surge verdict"},
		},
	} {
		failed := failing(playFake(t, step.fault))
		for _, want := range step.want {
			if !slices.ContainsFunc(failed, func(name string) bool { return strings.HasPrefix(name, want) }) {
				t.Errorf("%s: the check %q holds", step.name, want)
			}
		}
		for _, name := range failed {
			if !slices.ContainsFunc(step.want, func(want string) bool { return strings.HasPrefix(name, want) }) {
				t.Errorf("%s: failed as well: %s", step.name, name)
			}
		}
	}
}

func TestTheSurgeShareFollowsFromTheSeats(t *testing.T) {
	when := timeline{warm: 5 * time.Second, quiet: 25 * time.Second, jump: 20 * time.Second, after: 70 * time.Second}
	// 32 - 4 of its own - (160 + 27 + 22 + 6)/s x 20 ms - 5/s x 200 ms = 22.7 seats of 200 ms.
	if got := surgeShare(promoCast(when), when.jumpPhase()); got < 113 || got > 114 {
		t.Errorf("%.1f/s, want between 113 and 114", got)
	}
}

func TestTheCastStaysWithinTheSeats(t *testing.T) {
	when := shortTimeline
	busy := map[string]float64{}
	promised := map[string]float64{}
	for _, m := range promoCast(when) {
		promised[m.pool] += float64(m.quota) * m.service.Seconds()
		if m.name != spider {
			busy[m.pool] += m.meanRate(when.jumpPhase()) * m.service.Seconds()
		}
		if m.plan == "" || m.timeout == 0 || m.quota == 0 {
			t.Errorf("%s is incomplete: %+v", m.name, m)
		}
	}
	if promised["shared"] > sharedSeats || promised["vip"] > vipSeats {
		t.Errorf("more is promised than the seats can do: %v", promised)
	}
	if busy["shared"] > sharedSeats/4 {
		t.Errorf("the shared pool is busy without the offender: %.1f seats", busy["shared"])
	}
}
