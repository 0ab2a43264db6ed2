package config

import (
	"sort"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
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
}

// Position says where a key stands in the file: line and column from 1. A key that the file leaves out has
// the position of the table that would hold it; 0, 0 is nowhere (the environment, or a default at the top).
func (c *Config) Position(key string) (line, column int) {
	p := c.origin.of(key)
	return p.line, p.column
}

// At is Position as text, "config.toml:120"; the variable's name for what the environment gave; the file's
// name alone for what stands nowhere.
func (c *Config) At(key string) string {
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

// locate walks the document and notes where every key, table and list element stands. The document has
// been decoded before, so it is known to be well formed.
func locate(data []byte) (map[string]place, error) {
	w := &locator{places: map[string]place{}, count: map[string]int{}}
	for i, b := range data {
		if b == '\n' {
			w.lines = append(w.lines, i+1)
		}
	}
	w.p.Reset(data)
	prefix := ""
	for w.p.NextExpression() {
		switch e := w.p.Expression(); e.Kind {
		case unstable.Table:
			prefix = w.key("", e.Key())
		case unstable.ArrayTable:
			list := w.key("", e.Key())
			prefix = index(list, w.count[list])
			w.count[list]++
			it := e.Key()
			it.Next()
			w.note(prefix, it.Node())
		case unstable.KeyValue:
			w.keyValue(prefix, e)
		}
	}
	return w.places, w.p.Error()
}

type locator struct {
	p      unstable.Parser
	lines  []int // offsets at which the second and later lines begin
	places map[string]place
	count  map[string]int // elements so far of [[lists]]
}

// key follows a dotted key from prefix and notes each step. A step into a [[list]] means its last element.
func (w *locator) key(prefix string, it unstable.Iterator) string {
	for it.Next() {
		if n := w.count[prefix]; n > 0 {
			prefix = index(prefix, n-1)
		}
		prefix = join(prefix, string(it.Node().Data))
		w.note(prefix, it.Node())
	}
	return prefix
}

func (w *locator) keyValue(prefix string, e *unstable.Node) {
	w.value(w.key(prefix, e.Key()), e.Value())
}

func (w *locator) value(key string, n *unstable.Node) {
	switch n.Kind {
	case unstable.InlineTable:
		for it := n.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				w.keyValue(key, it.Node())
			}
		}
	case unstable.Array:
		i := 0
		for it := n.Children(); it.Next(); {
			if it.Node().Kind == unstable.Comment {
				continue
			}
			element := index(key, i)
			w.note(element, it.Node())
			w.value(element, it.Node())
			i++
		}
	}
}

// note keeps the first place of a key: a table that is opened twice stands where it first does.
func (w *locator) note(key string, n *unstable.Node) {
	if _, ok := w.places[key]; ok || n.Raw.Length == 0 {
		return
	}
	at := int(n.Raw.Offset)
	line := sort.SearchInts(w.lines, at+1)
	start := 0
	if line > 0 {
		start = w.lines[line-1]
	}
	w.places[key] = place{line: line + 1, column: at - start + 1}
}

func join(prefix, key string) string {
	if prefix == "" {
		return key
	}
	return prefix + "." + key
}

func index(key string, i int) string { return key + "[" + strconv.Itoa(i) + "]" }
