package console

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with what is in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (-update writes it anew):\n%s", path, got)
	}
}

// busy is a gateway in the middle of an incident.
func busy() *Snapshot {
	now := time.Date(2026, 11, 2, 9, 30, 15, 0, time.UTC)
	since := now.Add(-12 * time.Second)
	calmed := now.Add(-time.Hour)
	return &Snapshot{
		Time:    now,
		Version: "v0.1.0",
		UptimeS: 7384.5,
		Pools: []PoolView{
			{Name: "shared", Seats: 64, InUse: 51, Committed: 30, Excess: 4, Surge: 17, Waiting: 412},
			{Name: "vip", Seats: 32, InUse: 6, Committed: 6, Lent: 2},
		},
		Levels: []LevelView{
			{Pool: "shared", Level: "realtime", DispatchedPerS: 240},
			{Pool: "shared", Level: "batch", Waiting: 412, OldestWaitMS: 3810, MaxWaitMS: 60000, DispatchedPerS: 112.4},
			{Pool: "vip", Level: "realtime", DispatchedPerS: 55.25},
		},
		Flows: []FlowView{
			{
				Caller: "spider-77", Semantic: "export", Pool: "shared", Level: "batch", State: StateSurge, Rate: 801.3,
				Limit: "20/s", Occupancy: 1, InFlight: 20, Waiting: 412, Admitted: 4210, Refused: 5230, SurgeSince: &since,
				Expected: 15, Ratio: 53.42, Score: 207.25, Needed: 11.5, SeasonSlot: "Mon 09h", Seasonal: true,
			},
			{
				Caller: "acme", Semantic: "chat", Route: "chat", Tenant: "t-1", Pool: "vip", Level: "realtime", State: StateCalm,
				Rate: 55.2, Limit: "200/s", Occupancy: .276, InFlight: 6, Admitted: 190211,
				Expected: 54.9, Ratio: 1.01, Needed: 14, SeasonSlot: "Mon 09h", SeasonLearning: true,
			},
			{Caller: "newcomer", Semantic: "default", Pool: "shared", Level: "batch", State: StateLearning, Rate: 1, Limit: "5/s", Occupancy: .2, Admitted: 4},
		},
		FlowsTotal: 23,
		Surges: []SurgeView{
			{
				Caller: "spider-77", Semantic: "export", Start: since, Baseline: 15, Peak: 803.5,
				Observed: 220, Ratio: 14.67, Score: 31.5, Needed: 11.5, SeasonSlot: "Mon 09h", Seasonal: true,
			},
			{Caller: "blue", Semantic: "chat", Start: calmed.Add(-time.Minute), End: &calmed, Baseline: 8.2, Peak: 90},
		},
		Refusals: []RefusalView{
			{
				Time: now, RequestID: "7f3c-000091", Caller: "spider-77", Semantic: "export", Rule: "paid/reports/export",
				Code: "wait_too_long", RetryAfterMS: 21500,
			},
			{Time: now.Add(-time.Second), RequestID: "7f3c-000090", Code: "caller_unknown"},
			{
				Time: now.Add(-2 * time.Second), RequestID: "7f3c-00008f", Caller: "spider-77", Semantic: "export",
				Rule: "paid/reports/export", Code: "wait_expired", RetryAfterMS: 90500, WaitedMS: 60000,
			},
		},
		Config: ConfigView{Version: 3, Hash: "9f86d081884c7d659a2f", LoadedAt: now.Add(-2 * time.Hour)},
	}
}

// observing is the incident of busy while nothing is held back.
func observing() *Snapshot {
	s := busy()
	s.Mode = "observe"
	for i := range s.Flows {
		s.Flows[i].Refused, s.Flows[i].Observed = 0, true
	}
	s.Flows[0].WouldWait, s.Flows[0].WouldRefuse = 3112, 5230
	s.Refusals[0].Observed, s.Refusals[2].Observed = true, true
	s.Observed = &ObservedView{
		Rules: []string{"*"}, Passed: 190_310, Waited: 3115, Refused: 5231, Gone: 7,
		ByCode: map[string]uint64{"wait_too_long": 5100, "wait_expired": 131},
		Pools:  []PoolView{{Name: "shared", Seats: 64, InUse: 47, Waiting: 388}},
		Levels: []LevelView{{Pool: "shared", Level: "batch", Waiting: 387}},
	}
	all, most := 1.0, .99954
	s.Promise = PromiseView{Availability: &most, Availability1m: &all, Availability5m: &most, Availability60m: &all}
	return s
}

func body(t *testing.T, d *desk, path string) []byte {
	t.Helper()
	answer := d.ask(request{path: path})
	if got := code(t, answer); got != "200" {
		t.Fatalf("GET %s = %s", path, got)
	}
	return answer.Body()
}

func TestSnapshotsNamesAreTheContract(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	d.snapshot = busy()
	var indented bytes.Buffer
	if err := json.Indent(&indented, body(t, d, "/api/v1/snapshot"), "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "snapshot.json", indented.Bytes())
}

func TestAnEmptySnapshotHasEmptyLists(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	d.snapshot = &Snapshot{}
	got := string(body(t, d, "/api/v1/snapshot"))
	for _, list := range []string{"pools", "levels", "flows", "surges", "refusals"} {
		if !strings.Contains(got, `"`+list+`":[]`) {
			t.Errorf("%s is not an empty list: %s", list, got)
		}
	}
	if !strings.Contains(got, `"promise":{"refused_within_rate":0,"availability":null,"availability_1m":null,`) {
		t.Errorf("promise: %s", got)
	}
}

func TestASnapshotIsCutToItsBounds(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	source := &Snapshot{
		Flows:      make([]FlowView, 1000),
		FlowsTotal: 1000,
		Surges:     make([]SurgeView, 1000),
		Refusals:   make([]RefusalView, 1000),
	}
	source.Flows[0].Caller, source.Refusals[0].Code = "busiest", "newest"
	d.snapshot = source
	var got Snapshot
	if err := json.Unmarshal(body(t, d, "/api/v1/snapshot"), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Flows) != 200 || len(got.Surges) != 100 || len(got.Refusals) != 50 || got.FlowsTotal != 1000 {
		t.Errorf("%d flows, %d surges, %d refusals, %d flows in all", len(got.Flows), len(got.Surges), len(got.Refusals), got.FlowsTotal)
	}
	if got.Flows[0].Caller != "busiest" || got.Refusals[0].Code != "newest" {
		t.Error("the wrong end was cut")
	}
	if len(source.Flows) != 1000 {
		t.Error("the source's own snapshot was changed")
	}
}
