package registration

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestTheBodyOfARegistration(t *testing.T) {
	long := strings.Repeat("水", MaxDescription)
	for _, tc := range []struct {
		body   string
		want   Words
		kind   FaultKind
		member string
		ok     bool
	}{
		{body: `{"description":"Talks.","expected_rate":"20/s"}`, want: Words{"Talks.", "20/s"}, ok: true},
		{body: ` {"expected_rate":"", "description":"  x  "} `, want: Words{Description: "x"}, ok: true},
		{body: `{"description":"` + long + `"}`, want: Words{Description: long}, ok: true},
		{body: `{"description":"` + long + `x"}`, kind: LongDescription, member: "description"},
		{body: ``, kind: NotJSON},
		{body: `null`, kind: NotJSON},
		{body: `[]`, kind: NotJSON},
		{body: `{"description":"x"`, kind: NotJSON},
		{body: `{"description":"x"}{}`, kind: NotJSON},
		{body: `{"description":"x",}`, kind: NotJSON},
		{body: "{\"description\":\"\xff\"}", kind: NotJSON},
		{body: `{"description":"x","level":"realtime"}`, kind: UnknownMember, member: "level"},
		{body: `{"Description":"x"}`, kind: UnknownMember, member: "Description"},
		{body: `{"description":"x","description":"y"}`, kind: MemberTwice, member: "description"},
		{body: `{"description":1}`, kind: NoString, member: "description"},
		{body: `{"description":null}`, kind: NoString, member: "description"},
		{body: `{"description":{"description":"x"}}`, kind: NoString, member: "description"},
		{body: `{"description":"x","expected_rate":20}`, kind: NoString, member: "expected_rate"},
		{body: `{}`, kind: NoDescription, member: "description"},
		{body: `{"description":" \t "}`, kind: NoDescription, member: "description"},
		{body: `{"description":"a\u0000b"}`, kind: OddDescription, member: "description"},
		{body: `{"description":"a\nb"}`, kind: OddDescription, member: "description"},
		{body: `{"description":"\ud800"}`, kind: OddDescription, member: "description"},
		{body: `{"description":"a\u202eb"}`, kind: OddDescription, member: "description"},
		{body: `{"description":"x","expected_rate":"20"}`, kind: NoRate, member: "expected_rate"},
		{body: `{"description":"x","expected_rate":"0/s"}`, kind: NoRate, member: "expected_rate"},
		{body: `{"description":"x","expected_rate":"20/s` + strings.Repeat(" ", 40) + `"}`, kind: NoRate, member: "expected_rate"},
	} {
		got, err := ParseWords([]byte(tc.body))
		var fault *Fault
		switch {
		case tc.ok && (err != nil || got != tc.want):
			t.Errorf("%.60s: %+v %v", tc.body, got, err)
		case !tc.ok && (!errors.As(err, &fault) || fault.Kind != tc.kind || fault.Member != tc.member):
			t.Errorf("%.60s: %v, want kind %d of %q", tc.body, err, tc.kind, tc.member)
		case fault != nil && fault.Malformed() != (tc.kind <= NoString):
			t.Errorf("%.60s: malformed is %v", tc.body, fault.Malformed())
		}
	}
}

func FuzzTheBodyOfARegistration(f *testing.F) {
	f.Add([]byte(`{"description":"Talks.","expected_rate":"20/s"}`))
	f.Add([]byte(`{"description":"\ud83c\udf0a","description":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		w, err := ParseWords(body)
		if err != nil {
			if fault := (*Fault)(nil); !errors.As(err, &fault) || fault.Error() == "" {
				t.Fatalf("%v is no fault", err)
			}
			return
		}
		// What is taken is JSON to everybody else, too, and means the same there.
		var plain map[string]string
		if err := json.Unmarshal(body, &plain); err != nil || strings.TrimSpace(plain["description"]) != w.Description || plain["expected_rate"] != w.ExpectedRate {
			t.Fatalf("taken as %+v, and others read %v, %v", w, plain, err)
		}
		text, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseWords(text); err != nil || again != w {
			t.Fatalf("%+v became %+v, %v", w, again, err)
		}
	})
}
