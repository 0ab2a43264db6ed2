package policy

import (
	"bytes"
	"strings"
	"testing"
)

func TestMissingFalseAndOversizedTagsGainNothing(t *testing.T) {
	p := mustCompile(t, exampleConfig())
	huge := strings.Repeat("x", 10_000)
	for _, tc := range []struct {
		what, caller, route, tag, want string
	}{
		{"a tag that the route accepts and the caller registered holds", "acme", "mixed", "export", "export"},
		{"the same where the route accepts only it", "acme", "reports", "export", "export"},
		{"no tag: the route's only semantic is implied", "acme", "reports", "", "export"},
		{"no tag: implied, but not registered", "bolt", "reports", "", "default"},
		{"no tag among several accepted", "acme", "mixed", "", "default"},
		{"no tag where nothing is accepted", "acme", "open", "", "default"},
		{"accepted, not registered", "bolt", "mixed", "export", "default"},
		{"registered, not accepted", "acme", "chat", "export", "default"},
		{"registered, but the route accepts nothing", "acme", "open", "chat", "default"},
		{"neither registered nor accepted", "bolt", "chat", "export", "default"},
		{"exists, but nobody registered it", "acme", "mixed", "audit", "default"},
		{"a false tag does not fall back to what the route implies", "acme", "chat", "nonsense", "default"},
		{"default may be asked for", "acme", "chat", "default", "default"},
		{"another case is another tag", "acme", "chat", "Chat", "default"},
		{"spaces are part of a tag", "acme", "chat", " chat", "default"},
		{"a list is no tag", "acme", "mixed", "export,chat", "default"},
		{"a NUL does not end a tag", "acme", "chat", "chat\x00", "default"},
		{"a rule's wildcard is no tag", "acme", "chat", "*", "default"},
		{"a rule id is no tag", "acme", "chat", "semantic/chat", "default"},
		{"oversized", "acme", "chat", huge, "default"},
		{"oversized, beginning with a true one", "acme", "chat", "chat" + huge, "default"},
		{"anonymous: implied and registered", "visitor", "chat", "", "chat"},
		{"anonymous: a false tag", "visitor", "mixed", "export", "default"},
	} {
		t.Run(tc.what, func(t *testing.T) {
			got := p.SemanticFor(p.Route(tc.route), p.Caller(tc.caller), []byte(tc.tag), nil)
			if got.Name != tc.want {
				t.Errorf("%s on %s with %.20q: %s, want %s", tc.caller, tc.route, tc.tag, got.Name, tc.want)
			}
		})
	}
}

func TestRouteThatListsDefault(t *testing.T) {
	c := exampleConfig()
	c.Routes[0].Semantics = []string{"default"}
	c.Routes[1].Semantics = []string{"export", "export"}
	c.Routes[2].Semantics = []string{"default", "chat"}
	p := mustCompile(t, c)
	acme := p.Caller("acme")
	for _, tc := range []struct{ route, tag, want string }{
		{"chat", "", "default"},
		{"chat", "chat", "default"},
		{"reports", "", "export"}, // named twice is still one
		{"mixed", "", "default"},  // two are accepted, so none is implied
		{"mixed", "chat", "chat"},
	} {
		if got := p.SemanticFor(p.Route(tc.route), acme, []byte(tc.tag), nil); got.Name != tc.want {
			t.Errorf("%s with %q: %s, want %s", tc.route, tc.tag, got.Name, tc.want)
		}
	}
}

// However the tag is made, the semantic is default or one that the route accepts and the caller registered.
func FuzzSemanticFor(f *testing.F) {
	for _, tag := range []string{"", "chat", "export", "default", "audit", "chat\x00", "*"} {
		f.Add([]byte(tag))
	}
	c := exampleConfig()
	p := mustCompile(f, c)
	f.Fuzz(func(t *testing.T, tag []byte) {
		for i, r := range p.Routes() {
			for j, caller := range p.Callers() {
				s := p.SemanticFor(r, caller, tag, nil)
				if s.Name == "default" {
					continue
				}
				accepted, registered := c.Routes[i].Semantics, c.Callers[j].Semantics
				if !contains(accepted, s.Name) || !contains(registered, s.Name) {
					t.Fatalf("%s on %s gained %s with %q", caller.ID, r.Name, s.Name, tag)
				}
				if len(tag) > 0 && !bytes.Equal(tag, []byte(s.Name)) || len(tag) == 0 && len(accepted) != 1 {
					t.Fatalf("%s on %s: %s with %q", caller.ID, r.Name, s.Name, tag)
				}
			}
		}
	})
}

func contains(list []string, name string) bool {
	for _, s := range list {
		if s == name {
			return true
		}
	}
	return false
}
