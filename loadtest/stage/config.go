package stage

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"text/template"
)

// Config is what a scenario decides about the gateway's configuration; the rest keeps its default.
type Config struct {
	Listen, Admin string // host:port
	StateDir      string
	MaxConns      int
	Upstream      string // host:port; "": the sample inside the gateway
	Levels        []string
	Pools         []Pool
	Semantics     []Semantic
	Plans         []Plan
	Routes        []Route
	Callers       []Caller
	Tokens        []Token // of operators; none: whoever is on this machine is owner
}

// Token lets an operator in. The config holds only its hash.
type Token struct{ Name, Role, Secret string }

// Pool is capacity of its own.
type Pool struct {
	Name          string
	Seats         int
	ExcessCeiling float64 // of the seats
	SurgeCeiling  float64
}

// Semantic is a kind of work.
type Semantic struct {
	Name, Level string
	Rate        string // "200/s"
	MaxWait     string // "2s"
	Burst       int    // 0: none, the rate is a window
	MaxInFlight int    // of a flow; 0: no bound
	OverRate    string // "": the default
}

// Plan is a tier; its rules give a rate by semantic.
type Plan struct {
	Name    string
	Rules   []Rule
	CountBy string // "": the default

	Registration string // "": the default
}

// Rule gives a plan's rate for a semantic, and for a route alone where one is named.
type Rule struct {
	Semantic, Rate, Route string
	MaxRate               string // "": the default
}

// Route leads a path to the upstream.
type Route struct {
	Name, Path string
	Semantics  []string
}

// Caller is who sends. The config holds only the hash of the key.
type Caller struct {
	ID, Key    string
	Plan, Pool string
	Semantics  []string
	Second     string // another key; "": none
}

// secret is what the stage itself shows to the operators' listener; "": nothing is needed.
func (c *Config) secret() string {
	if len(c.Tokens) == 0 {
		return ""
	}
	return c.Tokens[0].Secret
}

// Target is the upstream's URL.
func (c *Config) Target() string {
	if c.Upstream == "" {
		return "builtin:sample"
	}
	return "http://" + c.Upstream
}

//go:embed config.toml.tmpl
var configText string

var configTemplate = template.Must(template.New("config.toml").Funcs(template.FuncMap{
	"quote":  quote,
	"list":   list,
	"sha256": func(key string) string { return "sha256:" + hash(key) },
	"hash":   hash,
}).Parse(configText))

// Write writes the configuration as TOML.
func (c *Config) Write(w io.Writer) error {
	if err := configTemplate.Execute(w, c); err != nil {
		return fmt.Errorf("cannot write the gateway's config: %w", err)
	}
	return nil
}

func hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// quote writes a TOML basic string. Control characters do not occur in what scenarios write.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func list(items []string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = quote(item)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
