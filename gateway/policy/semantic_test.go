package policy

import (
	"bytes"
	"strings"
	"testing"

	"tidegate/gateway/config"
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

// registered is what callers have registered themselves, by indexes.
type registered map[[2]int32]bool

func (r registered) Has(caller, semantic int32) bool { return r[[2]int32{caller, semantic}] }

// What a caller has registered itself counts as if it stood in the configuration, and makes no route accept more.
func TestWhatCallersRegisterThemselvesCounts(t *testing.T) {
	p := mustCompile(t, exampleConfig())
	more := registered{}
	for _, s := range []string{"export", "audit", "chat"} {
		more[[2]int32{p.Caller("bolt").Index, p.Semantic(s).Index}] = true
	}
	for _, tc := range []struct {
		what, caller, route, tag, want, why string
	}{
		{"a tag that the route accepts", "bolt", "mixed", "export", "export", "the tag holds: route mixed accepts export, registered by the caller itself"},
		{"implied by the route", "bolt", "reports", "", "export", "without a tag, route reports implies export, the one semantic that it accepts, registered by the caller itself"},
		{"no route accepts it", "bolt", "mixed", "audit", "default", "route mixed does not accept audit"},
		{"somebody else's", "visitor", "mixed", "export", "default", "visitor has not registered export"},
		{"somebody else's, implied", "visitor", "reports", "", "default", "visitor has not registered it"},
		{"also in the configuration, which goes first", "bolt", "chat", "chat", "chat", "and bolt has registered it"},
		{"no tag among several accepted", "bolt", "mixed", "", "default", "accepts several semantics"},
	} {
		got := p.SemanticFor(p.Route(tc.route), p.Caller(tc.caller), []byte(tc.tag), more)
		e, err := p.Explain(Query{Caller: tc.caller, Route: tc.route, Semantic: tc.tag}, more)
		if err != nil || got.Name != tc.want || e.Semantic != tc.want || !strings.Contains(e.Why, tc.why) {
			t.Errorf("%s: %s, %+v, %v; want %s: %s", tc.what, got.Name, e, err, tc.want, tc.why)
		}
	}
	for semantic, want := range map[string]bool{"chat": true, "export": false, "default": true} {
		if got := p.Caller("bolt").Registered(p.Semantic(semantic)); got != want {
			t.Errorf("the configuration registers bolt for %s: %v", semantic, got)
		}
	}
}

// What operators may do to a rate is told with the rule: the rate of the file, and how far it may be raised.
func TestARuleKnowsTheFilesRateAndItsBound(t *testing.T) {
	c := exampleConfig()
	c.Semantics[0].MaxRate = rate("400/s")
	c.Plans[0].Rules = []config.Rule{
		{Rate: new(rate("20/60s"))},
		{Semantic: "chat", Route: "chat", Rate: new(rate("10/s")), MaxRate: new(rate("30/s"))},
		{Semantic: "chat", Route: "mixed", Cost: new(int64(2))},
		{Semantic: "export", Route: "mixed", MaxRate: new(rate("25/s"))},
		{Semantic: "default", MaxRate: &config.Rate{}},
	}
	p := mustCompile(t, c)
	for _, tc := range []struct{ caller, route, semantic, rule, file, most string }{
		{"bolt", "chat", "chat", "free/chat/chat", "10/s", "30/s"},
		{"bolt", "mixed", "chat", "free/mixed/chat", "200/s", "400/s"},
		{"bolt", "mixed", "export", "free/mixed/export", "20/s", "25/s"},
		{"bolt", "reports", "export", "free/*/*", "20/60s", ""}, // a rate without a max_rate may not be raised
		{"bolt", "open", "default", "free/*/default", "5/s", ""},
		{"acme", "chat", "chat", "semantic/chat", "200/s", "400/s"},
	} {
		r := p.Choose(p.Caller(tc.caller), p.Route(tc.route), p.Semantic(tc.semantic))
		if r.ID != tc.rule || r.FileRateText != tc.file || r.MaxRateText != tc.most {
			t.Errorf("%s on %s, %s: %s, %q up to %q; want %s, %q up to %q", tc.caller, tc.route, tc.semantic, r.ID, r.FileRateText, r.MaxRateText, tc.rule, tc.file, tc.most)
		}
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
