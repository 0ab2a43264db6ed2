package config

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"runtime"
	"strings"
	"syscall"

	"github.com/go-viper/mapstructure/v2"
	tomlparser "github.com/knadh/koanf/parsers/toml/v2"
	"github.com/knadh/koanf/v2"
	"github.com/pelletier/go-toml/v2"
)

// MaxFile is the size of the largest configuration that is read, in bytes.
const MaxFile = 4 << 20

// Load reads a configuration file: defaults < file < environment (pass os.Environ()). The error is Problems
// when the content is at fault, with every problem at once; else it says why the file cannot be read.
// Safe for concurrent use.
func Load(path string, environ []string) (*Config, error) {
	data, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	return LoadBytes(path, data, environ)
}

// ReadFile reads a configuration file of at most MaxFile bytes. It may be a pipe, and is waited for.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	return readOpen(f)
}

// ReadAgain is ReadFile for a process that runs already. Only a regular file is read: whoever puts a pipe in
// its place must not have everybody wait who wants a change.
func ReadAgain(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe waits for its writer
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() && !info.IsDir() { // a directory says so itself
		f.Close()
		return nil, fmt.Errorf("cannot read the configuration: %s is no regular file", path)
	}
	return readOpen(f)
}

// readOpen reads an open file, and closes it.
func readOpen(f *os.File) ([]byte, error) {
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	return data, nil
}

// LoadBytes is Load with the file's content at hand; name is how the file is called in problems.
func LoadBytes(name string, data []byte, environ []string) (*Config, error) {
	c, _, err := LoadWith(name, data, environ, nil)
	return c, err
}

// LoadWith is LoadBytes with what operators have set above file and environment. The file must be good
// without them. Those that do not fit it are set aside, with why: they are no error. Whether an override
// has ended is not asked here; of two of one name the later counts.
func LoadWith(name string, data []byte, environ []string, overrides []Override) (c *Config, aside []Aside, err error) {
	if c, err = loadFile(name, data, environ); err != nil {
		return nil, nil, err
	}
	if len(overrides) > 0 {
		c, aside = lay(c, overrides)
	}
	return c, aside, nil
}

// loadFile reads what file and environment say.
func loadFile(name string, data []byte, environ []string) (*Config, error) {
	o := &origin{file: name, env: map[string]string{}}
	r := newReport(o)
	if len(data) > MaxFile {
		r.add("", nil, "split off what does not belong here", "the file is larger than %d MiB", MaxFile>>20)
		return nil, r.problems()
	}
	document, err := parse(name, data, o)
	if err != nil {
		return nil, err
	}
	checker{r}.table("", document, reflect.TypeFor[Config]())
	variables := environment(environ, r)

	c, err := merge(document, variables)
	if err != nil {
		return nil, fmt.Errorf("cannot decode %s: %w", name, err)
	}
	sum := sha256.Sum256(data)
	c.File, c.Hash, c.origin = name, hex.EncodeToString(sum[:]), *o
	c.fill()
	validate(c, r)
	if ps := r.problems(); len(ps) > 0 {
		return nil, ps
	}
	return c, nil
}

// parse decodes a document and notes where its keys stand.
func parse(name string, data []byte, o *origin) (map[string]any, error) {
	// An editor's byte order mark is blanked, not cut: columns stay what an editor shows.
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		data = append([]byte("   "), data[3:]...)
	}
	var err error
	if o.places, err = locate(data); err != nil {
		at := o.places[""]
		return nil, Problems{{File: name, Line: at.line, Column: at.column, Message: err.Error()}}
	}
	document, err := tomlparser.Parser().Unmarshal(data)
	if err != nil {
		p := Problem{File: name, Message: strings.TrimPrefix(err.Error(), "toml: ")}
		var at *toml.DecodeError
		if errors.As(err, &at) {
			p.Line, p.Column = at.Position()
		}
		return nil, Problems{p}
	}
	o.names = elementNames("", document, map[string]string{})
	return document, nil
}

// elementNames finds how the elements of lists are called.
func elementNames(prefix string, v any, names map[string]string) map[string]string {
	switch v := v.(type) {
	case map[string]any:
		for k, sub := range v {
			elementNames(join(prefix, k), sub, names)
		}
	case []any:
		for i, element := range v {
			m, ok := element.(map[string]any)
			if !ok {
				continue
			}
			for _, key := range []string{"id", "name"} {
				if name, ok := m[key].(string); ok && name != "" {
					names[index(prefix, i)] = name
					break
				}
			}
			elementNames(index(prefix, i), m, names)
		}
	}
	return names
}

// merge lays defaults, document and environment over one another and decodes what comes out. Each call has
// a koanf of its own: a live one is not safe to share.
func merge(document, variables map[string]any) (*Config, error) {
	k := koanf.New(".")
	for _, layer := range []map[string]any{tableOf(*Default()), document, variables} {
		if err := k.Load(treeProvider(layer), nil); err != nil {
			return nil, err
		}
	}
	c := new(Config)
	err := k.UnmarshalWithConf("", c, koanf.UnmarshalConf{
		Tag: "toml",
		DecoderConfig: &mapstructure.DecoderConfig{
			DecodeHook:  mapstructure.ComposeDecodeHookFunc(elementHook, textHook),
			ErrorUnused: true,
			MatchName:   func(key, name string) bool { return key == name },
		},
	})
	return c, err
}

// treeProvider gives koanf a tree that is in memory already.
type treeProvider map[string]any

func (t treeProvider) Read() (map[string]any, error) { return t, nil }

func (t treeProvider) ReadBytes() ([]byte, error) {
	return nil, errors.New("a tree has no bytes")
}

// elementHook lays a list element over the defaults of its kind.
func elementHook(from, to reflect.Value) (any, error) {
	defaults, ok := elementDefaults[to.Type()]
	if ok {
		// Reading a large file takes milliseconds, and whoever waits for this processor goes first.
		runtime.Gosched()
	}
	given, isMap := from.Interface().(map[string]any)
	if !ok || !isMap {
		return from.Interface(), nil
	}
	return overlay(defaults, given), nil
}

// overlay is a copy of base with what over gives, table by table.
func overlay(base, over map[string]any) map[string]any {
	m := maps.Clone(base)
	for k, v := range over {
		below, ok1 := m[k].(map[string]any)
		above, ok2 := v.(map[string]any)
		if ok1 && ok2 {
			v = overlay(below, above)
		}
		m[k] = v
	}
	return m
}

// textHook reads the values that have a notation of their own.
func textHook(from, to reflect.Value) (any, error) {
	if from.Kind() != reflect.String || !isText(to.Type()) {
		return from.Interface(), nil
	}
	v := reflect.New(to.Type())
	err := v.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(from.String()))
	return v.Elem().Interface(), err
}

// fill sets what depends on other keys: a caller that names no plan or pool has the first.
func (c *Config) fill() {
	for i := range c.Callers {
		caller := &c.Callers[i]
		if caller.Plan == "" && len(c.Plans) > 0 {
			caller.Plan = c.Plans[0].Name
		}
		if caller.Pool == "" && len(c.Pools) > 0 {
			caller.Pool = c.Pools[0].Name
		}
	}
}
