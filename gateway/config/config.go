// Package config holds the configuration of the gateway: its structs are the reference of every
// key, and Load reads, merges and checks them. It knows nothing of what the values are used for;
// package policy compiles a Config into what the gateway runs on.
//
// A Config is plain data. It is not changed after Load has returned it.
package config

// Config is a whole configuration, with every default filled in.
type Config struct {
	Server    Server     `toml:"server"`
	Admin     Admin      `toml:"admin"`
	State     State      `toml:"state"`
	Record    Record     `toml:"record"`
	Log       Log        `toml:"log"`
	Metrics   Metrics    `toml:"metrics"`
	Time      Time       `toml:"time"`
	Identify  Identify   `toml:"identify"`
	Limits    Limits     `toml:"limits"`
	Queue     Queue      `toml:"queue"`
	Detector  Detector   `toml:"detector"`
	Alerts    Alerts     `toml:"alerts"`
	Levels    []Level    `toml:"levels"`    // first is highest
	Pools     []Pool     `toml:"pools"`     // first is the pool of callers that name none
	Semantics []Semantic `toml:"semantics"` // one of them is "default"
	Plans     []Plan     `toml:"plans"`     // first is the plan of callers that name none
	Upstreams []Upstream `toml:"upstreams"`
	Routes    []Route    `toml:"routes"`
	Callers   []Caller   `toml:"callers"`

	File      string     `toml:"-"` // as it was named to Load
	Hash      string     `toml:"-"` // sha256 of the file's bytes, in hex
	Overrides []Override `toml:"-"` // in force, in the order given; their values stand in the fields above

	origin origin  // where each key stands
	finder *finder // nil: there are no overrides
	below  *Config // without the overrides; nil: there are none
}

// Server is the data plane's listener and its limits.
type Server struct {
	Listen            string   `toml:"listen"`
	MaxConnections    int      `toml:"max_connections"`
	Mode              string   `toml:"mode"` // enforce | observe
	MaxHeaderBytes    Size     `toml:"max_header_bytes"`
	MaxBodyBytes      Size     `toml:"max_body_bytes"`
	MaxBodyMemory     Size     `toml:"max_body_memory"` // all bodies held, being read or waiting
	BodyBuffer        Size     `toml:"body_buffer"`     // bodies up to this are read before admission
	AnswerBuffer      Size     `toml:"answer_buffer"`   // answers are read ahead up to this
	HeaderTimeout     Duration `toml:"header_timeout"`
	BodyTimeout       Duration `toml:"body_timeout"`
	MinBodyRate       Size     `toml:"min_body_rate"` // bytes a second, after the first 5 s
	WriteStallTimeout Duration `toml:"write_stall_timeout"`
	RatePerIP         Rate     `toml:"rate_per_ip"` // zero: off
	IdleTimeout       Duration `toml:"idle_timeout"`
	TrustedProxies    []string `toml:"trusted_proxies"` // CIDRs or single addresses
	DrainDelay        Duration `toml:"drain_delay"`
	DrainTimeout      Duration `toml:"drain_timeout"`
	CallersPage       bool     `toml:"callers_page"` // the page for callers, at /.tidegate/
}

// Admin is the operators' listener.
type Admin struct {
	Listen string  `toml:"listen"`
	Tokens []Token `toml:"tokens"`
}

// Token lets one operator in. The file holds only the token's hash.
type Token struct {
	Name   string `toml:"name"`
	Role   string `toml:"role"`   // viewer | operator | owner
	SHA256 string `toml:"sha256"` // 64 hex digits, with or without "sha256:" before them
}

// State is where the gateway keeps what outlives it.
type State struct {
	Dir string `toml:"dir"` // relative: beside the config file
}

// Record is the trace of what was offered: a file after the other, the oldest going first.
type Record struct {
	Dir       string   `toml:"dir"`        // relative: beside the config file; "": off
	MaxBytes  Size     `toml:"max_bytes"`  // all files together
	FileBytes Size     `toml:"file_bytes"` // a file is closed at this size
	FileSpan  Duration `toml:"file_span"`  // or at this age
}

// Log says what is logged, and how.
type Log struct {
	Level                 string `toml:"level"`  // debug | info | warn | error
	Format                string `toml:"format"` // json | console
	Access                string `toml:"access"` // off | sampled | all
	AccessSamplePerSecond int    `toml:"access_sample_per_second"`
}

// Metrics bounds the series.
type Metrics struct {
	MaxCallers int `toml:"max_callers"`
}

// Time is the calendar's zone.
type Time struct {
	Zone string `toml:"zone"` // "Local", or an IANA name
}

// Identify says where a request's key, semantic and tenant are read; the first place that has one counts.
// A place is "header:NAME", "query:NAME" or, for the key, "bearer".
type Identify struct {
	Key       []string `toml:"key"`
	Anonymous string   `toml:"anonymous"` // the caller of keyless requests on public routes
	Semantic  []string `toml:"semantic"`
	Tenant    []string `toml:"tenant"`
}

// Limits bounds what the gateway remembers.
type Limits struct {
	MaxFlows      int `toml:"max_flows"`
	MaxTenants    int `toml:"max_tenants"` // for one caller
	RefusalsKept  int `toml:"refusals_kept"`
	HistorySeries int `toml:"history_series"` // pairs of caller and semantic whose past is kept
}

// Queue holds what is said to those who wait or are refused.
type Queue struct {
	TicketTTL Duration  `toml:"ticket_ttl"`
	OffPeak   []OffPeak `toml:"off_peak"`
}

// Detector sets the change detection.
type Detector struct {
	Enabled bool     `toml:"enabled"`
	Window  Duration `toml:"window"`
	Ratio   float64  `toml:"ratio"` // the smallest lasting step looked for, against the expectation; above 1
	Rise    Duration `toml:"rise"`  // doubling in this time or more slowly is a tide
	MinRate Rate     `toml:"min_rate"`
	Learn   Duration `toml:"learn"`  // a rise that lasts this long is the new normal
	Season  string   `toml:"season"` // hour-of-week | off
	Hold    Duration `toml:"hold"`   // calm for this long ends a surge
}

// Alerts says what is told to whom when something needs a person.
type Alerts struct {
	Webhook        string   `toml:"webhook"`         // http or https; "": off
	SecretFile     string   `toml:"secret_file"`     // relative: beside the config file; "": not signed
	Events         []string `toml:"events"`          // of AlertKinds; empty: all
	Repeat         Duration `toml:"repeat"`          // the same kind and subject is not told again within it
	WaitShare      float64  `toml:"wait_share"`      // of max_wait, above 0 up to 1
	Timeout        Duration `toml:"timeout"`         // of one attempt
	ImportantPools []string `toml:"important_pools"` // empty: all but the first
}

// AlertKinds are the events that alerts can be about.
var AlertKinds = []string{"surge", "starvation", "vip_refused", "reload_failed", "upstream_down", "state_failed"}

// Level is one business priority.
type Level struct {
	Name     string  `toml:"name"`
	MinShare float64 `toml:"min_share"` // of its pool's seat time, from 0 to 1
}

// Pool is isolated capacity.
type Pool struct {
	Name            string  `toml:"name"`
	Seats           Seats   `toml:"seats"`
	MinSeats        int     `toml:"min_seats"` // with seats = "auto"
	MaxSeats        int     `toml:"max_seats"`
	ExcessCeiling   float64 `toml:"excess_ceiling"` // of the seats, above 0 up to 1
	SurgeCeiling    float64 `toml:"surge_ceiling"`
	LongCeiling     float64 `toml:"long_ceiling"`
	MaxWaiting      int     `toml:"max_waiting"`
	MaxWaitingBytes Size    `toml:"max_waiting_bytes"`
	MaxFlowShare    float64 `toml:"max_flow_share"` // of either bound, for one caller
	Lend            int     `toml:"lend"`
	Borrow          bool    `toml:"borrow"`
}

// Semantic is a registered kind of work, and the rule of whoever has no other.
type Semantic struct {
	Name         string   `toml:"name"`
	Level        string   `toml:"level"`
	Rate         Rate     `toml:"rate"`
	MaxRate      Rate     `toml:"max_rate"` // as far as an operator may raise Rate; zero: no further than it is
	Burst        int64    `toml:"burst"`    // 0: a sliding window
	Cost         int64    `toml:"cost"`
	MaxWait      Duration `toml:"max_wait"`
	MaxInFlight  int      `toml:"max_in_flight"`  // 0: no limit of its own
	OverInFlight string   `toml:"over_in_flight"` // queue | reject
	OverRate     string   `toml:"over_rate"`      // queue | pace | reject
	Observe      bool     `toml:"observe"`        // decided, counted and logged; nothing is held back
	Message      string   `toml:"message"`
}

// Plan is a tier: a table of rules by route and semantic.
type Plan struct {
	Name       string  `toml:"name"`
	CountBy    string  `toml:"count_by"`    // caller | tenant
	CallerRate Rate    `toml:"caller_rate"` // zero: no bound
	Weight     float64 `toml:"weight"`
	// Registration says whether callers may register semantics with their own key: auto | approve | off.
	Registration string `toml:"registration"`
	Rules        []Rule `toml:"rules"`
}

// Rule overrides a semantic's own limits for one plan, by route and semantic. A nil field comes from
// the semantic; rate, max_rate and burst are one field, so a rule that gives a rate without a burst is a window,
// and one that gives a rate without a max_rate may not be raised by operators.
type Rule struct {
	Route        string    `toml:"route"`    // "": any
	Semantic     string    `toml:"semantic"` // "": any but default
	Rate         *Rate     `toml:"rate"`
	MaxRate      *Rate     `toml:"max_rate"`
	Burst        *int64    `toml:"burst"`
	Cost         *int64    `toml:"cost"`
	MaxWait      *Duration `toml:"max_wait"`
	MaxInFlight  *int      `toml:"max_in_flight"`
	OverInFlight *string   `toml:"over_in_flight"`
	OverRate     *string   `toml:"over_rate"`
	Level        *string   `toml:"level"`
	Observe      *bool     `toml:"observe"`
	Message      *string   `toml:"message"`

	// Apart says that an operator has set Rate or Burst of a rule that gives neither: the other one then
	// still comes from the semantic.
	Apart bool `toml:"-"`
}

// Upstream is what stands behind the gateway.
type Upstream struct {
	Name           string   `toml:"name"`
	Targets        []Target `toml:"targets"`
	Balance        string   `toml:"balance"` // least_in_flight | round_robin | hash
	Timeout        Duration `toml:"timeout"` // to the first byte of the answer
	StallTimeout   Duration `toml:"stall_timeout"`
	ConnectTimeout Duration `toml:"connect_timeout"`
	Retries        int      `toml:"retries"`
	Health         Health   `toml:"health"`
	Eject          Eject    `toml:"eject"`
}

// Target is one address of an upstream.
type Target struct {
	URL    string `toml:"url"` // http://host:port, or builtin:sample
	Weight int    `toml:"weight"`
}

// Health is the active health check.
type Health struct {
	Path     string   `toml:"path"` // "": passive only
	Interval Duration `toml:"interval"`
	Timeout  Duration `toml:"timeout"`
	Fall     int      `toml:"fall"`
	Rise     int      `toml:"rise"`
}

// Eject takes a failing target out for a while.
type Eject struct {
	Failures int      `toml:"failures"`
	Window   Duration `toml:"window"`
	For      Duration `toml:"for"`
}

// Route is method, host and path pattern, leading to an upstream and accepting some semantics.
type Route struct {
	Name      string   `toml:"name"`
	Host      string   `toml:"host"`    // "": any
	Methods   []string `toml:"methods"` // empty: any
	Path      string   `toml:"path"`    // exact, or a prefix ending in /*
	Upstream  string   `toml:"upstream"`
	Semantics []string `toml:"semantics"`
	Public    bool     `toml:"public"`
}

// Caller is who sends.
type Caller struct {
	ID        string   `toml:"id"`
	Name      string   `toml:"name"`
	Keys      []string `toml:"keys"` // 64 hex digits, with or without "sha256:" before them
	Plan      string   `toml:"plan"`
	Pool      string   `toml:"pool"`
	Semantics []string `toml:"semantics"`
	Enabled   bool     `toml:"enabled"`

	Flows []FlowRate `toml:"-"` // what operators have set for it alone; one without a rate is as if it was not there
}
