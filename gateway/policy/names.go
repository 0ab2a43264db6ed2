package policy

import "sync"

// Names holds the indexes of callers (by id), semantics and routes. One Names lives as long as the process and
// is handed to every Compile. The zero value is empty and ready. Safe for concurrent use.
type Names struct {
	Callers, Semantics, Routes NameTable
}

// NameTable gives each name it is asked for an index: 1, 2, 3 and on. 0 is no name. An index never comes to mean
// another name, and a name never gets a second index. Nothing is ever forgotten, so the memory held is that
// of all different names that valid configurations have had (about 100 bytes each). Safe for concurrent use.
type NameTable struct {
	mu      sync.Mutex
	indexes map[string]int32
	names   []string // of index i+1
}

// Index returns the name's index and makes one if it has none. It returns 0 for "".
func (t *NameTable) Index(name string) int32 {
	if name == "" {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i, ok := t.indexes[name]; ok {
		return i
	}
	if t.indexes == nil {
		t.indexes = make(map[string]int32)
	}
	t.names = append(t.names, name)
	i := int32(len(t.names))
	t.indexes[name] = i
	return i
}

// Name returns the name that has the index, and "" if none has.
func (t *NameTable) Name(index int32) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if index < 1 || int(index) > len(t.names) {
		return ""
	}
	return t.names[index-1]
}
