package replay

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// What came to a gateway that runs is played as it would be there: a caller that the configuration lacks is none, and those
// who come without a key are told apart by their addresses. From elsewhere, such callers are made and such addresses one.
func TestWhatCameToThisGatewayIsPlayedAsItCame(t *testing.T) {
	text := strings.Replace(platform, "[[callers]]", "[identify]\nanonymous = \"guests\"\n[[callers]]\nid = \"guests\"\nsemantics = [\"chat\"]\n[[callers]]", 1)
	text = strings.Replace(text, "name = \"free\"", "name = \"free\"\nrules = [{ semantic = \"chat\", rate = \"2/s\", over_rate = \"reject\" }]", 1)
	for _, live := range []bool{false, true} {
		e, err := NewEngine(configFor(t, text), Play{Live: live})
		if err != nil {
			t.Fatal(err)
		}
		guests, nobody := NewOrigin(0, "guests", "chat", "chat", false), NewOrigin(1, "nobody", "chat", "chat", false)
		for i := range 10 { // of each of five addresses two at once, which are within its rate
			e.Arrive(&Arrival{At: int64(i+1) * 1e6, Origin: guests, Tenant: []string{"a", "b", "c", "d", "e"}[i/2]})
			e.Arrive(&Arrival{At: int64(i+1) * 1e6, Origin: nobody})
		}
		e.Finish()
		got := map[string]string{}
		for _, r := range e.Report(0).Rows {
			got[r.Caller] = fmt.Sprint(r.Offered, r.Codes)
		}
		want := map[string]string{"guests": "10 map[rate_exceeded:8]", "nobody": "10 map[rate_exceeded:8]"}
		if live {
			want = map[string]string{"guests": "10 map[]", "nobody": "10 map[caller_unknown:10]"}
		}
		if !maps.Equal(got, want) {
			t.Errorf("live %v: %v, want %v", live, got, want)
		}
	}
}
