package config

import (
	"reflect"
	"time"
)

const (
	kib = Size(1) << 10
	mib = Size(1) << 20
	gib = Size(1) << 30
)

// Default is the configuration of an empty file. It does not validate: levels, pools, semantics and
// plans are what the file must give.
func Default() *Config {
	return &Config{
		Server: Server{
			Listen:            "127.0.0.1:8080",
			MaxConnections:    100_000,
			Mode:              "enforce",
			MaxHeaderBytes:    16 * kib,
			MaxBodyBytes:      8 * mib,
			MaxBodyMemory:     512 * mib,
			BodyBuffer:        64 * kib,
			AnswerBuffer:      256 * kib,
			HeaderTimeout:     Duration{5 * time.Second},
			BodyTimeout:       Duration{30 * time.Second},
			MinBodyRate:       kib,
			WriteStallTimeout: Duration{30 * time.Second},
			IdleTimeout:       Duration{75 * time.Second},
			TrustedProxies:    []string{},
			DrainTimeout:      Duration{30 * time.Second},
			CallersPage:       true,
		},
		Admin:   Admin{Listen: "127.0.0.1:8081", Tokens: []Token{}},
		State:   State{Dir: "data"},
		Record:  Record{MaxBytes: gib, FileBytes: 64 * mib, FileSpan: Duration{time.Hour}},
		Log:     Log{Level: "info", Format: "json", Access: "sampled", AccessSamplePerSecond: 100},
		Metrics: Metrics{MaxCallers: 1000},
		Time:    Time{Zone: "Local"},
		Identify: Identify{
			Key:      []string{"header:X-API-Key", "bearer"},
			Semantic: []string{"header:X-Semantic"},
			Tenant:   []string{"header:X-Tenant-Id"},
		},
		Limits: Limits{MaxFlows: 200_000, MaxTenants: 1000, RefusalsKept: 10_000, HistorySeries: 10_000},
		Queue:  Queue{TicketTTL: Duration{10 * time.Minute}, OffPeak: []OffPeak{}},
		Detector: Detector{
			Enabled: true,
			Window:  Duration{time.Second},
			Ratio:   1.5,
			Rise:    Duration{time.Minute},
			MinRate: Rate{N: 10, Per: time.Second, Text: "10/s"},
			Learn:   Duration{30 * time.Minute},
			Season:  "hour-of-week",
			Hold:    Duration{10 * time.Second},
		},
		Alerts: Alerts{
			Events:         []string{},
			Repeat:         Duration{10 * time.Minute},
			WaitShare:      0.8,
			Timeout:        Duration{5 * time.Second},
			ImportantPools: []string{},
		},
	}
}

// defaultUpstream is what an upstream has where the file is silent.
var defaultUpstream = Upstream{
	Balance:        "least_in_flight",
	Timeout:        Duration{30 * time.Second},
	StallTimeout:   Duration{30 * time.Second},
	ConnectTimeout: Duration{2 * time.Second},
	Retries:        1,
	Health: Health{
		Interval: Duration{5 * time.Second},
		Timeout:  Duration{time.Second},
		Fall:     3,
		Rise:     2,
	},
	Eject: Eject{Failures: 5, Window: Duration{10 * time.Second}, For: Duration{30 * time.Second}},
}

// elementDefaults holds what an element of a list of tables has where the file is silent. Each element is
// filled on its own. Keys that are taken out have no default: they must be given, or, like a caller's plan,
// come from elsewhere. Types that are missing here have no defaults at all: in a rule silence means the
// semantic's own.
var elementDefaults = map[reflect.Type]map[string]any{
	reflect.TypeFor[Level](): without(tableOf(Level{}), "name"),
	reflect.TypeFor[Pool](): without(tableOf(Pool{
		Seats:           Seats{N: 64},
		ExcessCeiling:   0.8,
		SurgeCeiling:    0.5,
		LongCeiling:     0.5,
		MaxWaiting:      20_000,
		MaxWaitingBytes: 256 * mib,
		MaxFlowShare:    0.25,
		Borrow:          true,
	}), "name"),
	reflect.TypeFor[Semantic](): without(tableOf(Semantic{
		Cost:         1,
		MaxWait:      Duration{2 * time.Second},
		OverInFlight: "queue",
		OverRate:     "queue",
	}), "name", "level", "rate"),
	reflect.TypeFor[Plan]():     without(tableOf(Plan{CountBy: "caller", Weight: 1, Registration: "off", Rules: []Rule{}}), "name"),
	reflect.TypeFor[Upstream](): without(tableOf(defaultUpstream), "name"),
	reflect.TypeFor[Target]():   without(tableOf(Target{Weight: 1}), "url"),
	reflect.TypeFor[Route](): without(tableOf(Route{
		Methods:   []string{},
		Semantics: []string{},
	}), "name", "path", "upstream"),
	reflect.TypeFor[Caller](): without(tableOf(Caller{
		Keys:      []string{},
		Semantics: []string{},
		Enabled:   true,
	}), "id", "plan", "pool"),
}

func without(m map[string]any, keys ...string) map[string]any {
	for _, k := range keys {
		delete(m, k)
	}
	return m
}
