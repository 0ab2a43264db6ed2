package config

import (
	"fmt"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// maxDepth bounds how deep keys may be nested; the reference needs five. Without it a file of a few
// megabytes made of dots and brackets would cost gigabytes.
const maxDepth = 32

// errDeep stops the walk.
var errDeep = fmt.Errorf("keys are nested more than %d levels deep", maxDepth)

// locate walks the document and notes where every key, table and list element stands. It runs before the
// document is decoded: on a syntax error it returns what came before, with a nil error, because the decoder
// words it better. errDeep comes with the place under the key "".
func locate(data []byte) (map[string]place, error) {
	w := &locator{places: map[string]place{}, count: map[string]int{}}
	for i, b := range data {
		if b == '\n' {
			w.lines = append(w.lines, i+1)
		}
	}
	w.p.Reset(data)
	prefix := ""
	for !w.deep && w.p.NextExpression() {
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
	if w.deep {
		return w.places, errDeep
	}
	return w.places, nil
}

type locator struct {
	p      unstable.Parser
	lines  []int // offsets at which the second and later lines begin
	places map[string]place
	count  map[string]int // elements so far of [[lists]]
	deep   bool           // nested past maxDepth: the walk is over
}

// key follows a dotted key from prefix and notes each step. A step into a [[list]] means its last element.
func (w *locator) key(prefix string, it unstable.Iterator) string {
	for it.Next() && !w.tooDeep(prefix, it.Node()) {
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
		for it := n.Children(); it.Next() && !w.deep; {
			w.keyValue(key, it.Node())
		}
	case unstable.Array:
		i := 0
		for it := n.Children(); it.Next(); {
			if w.tooDeep(key, it.Node()) {
				return
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
	w.places[key] = w.place(n)
}

func (w *locator) place(n *unstable.Node) place {
	at := int(n.Raw.Offset)
	line := sort.SearchInts(w.lines, at+1)
	start := 0
	if line > 0 {
		start = w.lines[line-1]
	}
	return place{line: line + 1, column: at - start + 1}
}

// tooDeep says that nothing more may be nested below key.
func (w *locator) tooDeep(key string, n *unstable.Node) bool {
	if steps := 1 + strings.Count(key, ".") + strings.Count(key, "["); !w.deep && steps >= maxDepth {
		w.deep = true
		w.places[""] = w.place(n)
	}
	return w.deep
}
