package config

import (
	"strconv"
	"strings"
)

// place is a position in the file: line and column from 1, the column in bytes. Line 0 is "nowhere".
type place struct{ line, column int }

// origin says where keys stand. Keys are written like "plans[0].rules[2].rate"; tables and list elements
// have entries too ("plans[0]"). It is not changed once a file has been read.
type origin struct {
	file   string
	places map[string]place
	names  map[string]string // of list elements, by key: "plans[0]" is "free"
	env    map[string]string // keys given by the environment: the variable
	over   map[string]string // keys set by an override: who made it
}

// Position says where a key stands in the file: line and column from 1. A key that the file leaves out has
// the position of the table that would hold it; 0, 0 is nowhere (the environment, or a default at the top).
func (c *Config) Position(key string) (line, column int) {
	p := c.origin.of(key)
	return p.line, p.column
}

// At is Position as text, "config.toml:120"; the variable's name for what the environment gave; "override by
// ann" for what an operator has set over both; the file's name alone for what stands nowhere.
func (c *Config) At(key string) string {
	if actor, ok := c.origin.over[key]; ok {
		return "override by " + actor
	}
	if name, ok := c.origin.env[key]; ok {
		return name
	}
	if p := c.origin.of(key); p.line > 0 {
		return c.File + ":" + strconv.Itoa(p.line)
	}
	return c.File
}

func (o *origin) of(key string) place {
	for key != "" {
		if p, ok := o.places[key]; ok {
			return p
		}
		key = parent(key)
	}
	return place{}
}

// parent cuts the last step of a key: "a.b[2].c" -> "a.b[2]" -> "a.b" -> "a" -> "".
func parent(key string) string {
	return key[:max(strings.LastIndexAny(key, ".["), 0)]
}

// display writes a key with the names of list elements in place of their numbers, as the owner of the file
// knows them: "plans.free.rules[2].rate" for "plans[0].rules[2].rate".
func (o *origin) display(key string) string {
	if key == "" {
		return ""
	}
	up := parent(key)
	if name, ok := o.names[key]; ok {
		return o.display(up) + "." + quoteKey(name)
	}
	return o.display(up) + key[len(up):]
}

// quoteKey quotes what TOML would have to quote.
func quoteKey(s string) string {
	for _, r := range s {
		bare := r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !bare {
			return strconv.Quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}

func join(prefix, key string) string {
	if prefix == "" {
		return key
	}
	return prefix + "." + key
}

func index(key string, i int) string { return key + "[" + strconv.Itoa(i) + "]" }
