package config

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

const reference = "../../config.toml"

func loadReference(t *testing.T) (*Config, []byte) {
	t.Helper()
	data, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	c, err := LoadBytes("config.toml", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, data
}

// The published list of keys and defaults is kept by hand: a key that is renamed, dropped or given another
// default shows up here first.
func TestKeysAndDefaultsAreThePublishedOnes(t *testing.T) {
	f, err := os.Open("testdata/keys.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var want []string
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if line := strings.TrimSpace(sc.Text()); line != "" && line[0] != '#' {
			want = append(want, line)
		}
	}
	var got []string
	for _, k := range Keys() {
		line := k.Key
		if k.Default != "" {
			line += " = " + k.Default
		}
		got = append(got, line)
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("not published: %s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("published, but not read: %s", line)
		}
	}
}

func TestReferenceFileNamesEveryKey(t *testing.T) {
	_, data := loadReference(t)
	for _, k := range Keys() {
		last := k.Key[strings.LastIndex(k.Key, ".")+1:]
		if !regexp.MustCompile(`\b` + last + `\b`).Match(data) {
			t.Errorf("config.toml says nothing of %s", k.Key)
		}
	}
}

// What the reference writes outside lists is the default, so that the file documents what leaving a key out means.
func TestReferenceFileShowsDefaults(t *testing.T) {
	c, _ := loadReference(t)
	d := Default()
	got, want := reflect.ValueOf(*c), reflect.ValueOf(*d)
	for _, f := range fields(reflect.TypeFor[Config]()) {
		if isTable(f.typ) && !reflect.DeepEqual(got.Field(f.index).Interface(), want.Field(f.index).Interface()) {
			t.Errorf("[%s] = %+v, the defaults are %+v", f.key, got.Field(f.index), want.Field(f.index))
		}
	}
}

func TestReferenceFileGivesEveryKeyOutsideLists(t *testing.T) {
	c, _ := loadReference(t)
	for _, s := range c.Settings() {
		if s.Default && !strings.Contains(s.Key, "[") {
			t.Errorf("config.toml leaves out %s", s.Key)
		}
	}
}

func TestReferenceFilePassesTheStrictDecoder(t *testing.T) {
	_, data := loadReference(t)
	var c Config
	d := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		t.Fatal(err)
	}
	if c.Semantics[0].Rate.N != 200 || c.Pools[0].Seats.N != 64 || c.Server.MaxBodyBytes != 8*mib {
		t.Errorf("decoded %+v", c)
	}
}

// Each key that the file shows in plain must be the one whose hash stands beside it, and must be refused off loopback.
func TestReferenceFileHoldsDemoKeysOnly(t *testing.T) {
	c, data := loadReference(t)
	plain := regexp.MustCompile(`sha256:([0-9a-f]{64})"\]\s+# the key "([^"]+)"`).FindAllSubmatch(data, -1)
	if len(plain) != len(c.Callers) {
		t.Errorf("%d keys are shown in plain, of %d callers", len(plain), len(c.Callers))
	}
	for _, m := range plain {
		sum := sha256.Sum256(m[2])
		if hex.EncodeToString(sum[:]) != string(m[1]) {
			t.Errorf("%s is not the hash of %q", m[1], m[2])
		}
		if _, ok := demoKey(sum); !ok {
			t.Errorf("%q is not known as a demo key", m[2])
		}
	}
	_, err := LoadBytes("config.toml", data, []string{"TIDEGATE__SERVER__LISTEN=0.0.0.0:8080"})
	ps, _ := err.(Problems)
	if len(ps) != len(c.Callers) {
		t.Fatalf("off loopback there are %d problems, want one for each caller:\n%v", len(ps), err)
	}
	if p := ps[0]; p.Key != "callers[0].keys[0]" || !strings.Contains(p.Message, `demo key "test"`) {
		t.Errorf("first problem: %v", p)
	}
}
