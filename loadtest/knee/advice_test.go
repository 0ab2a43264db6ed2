package knee

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// found is a pool of 16 workers of 20 ms.
func found() *Curve {
	unloaded := Step{Load: Load{Rate: 12.5}, Requests: 100, Goodput: 12.5, Mean: 20 * ms, P50: 20 * ms, High: 22 * ms, InFlight: 0.25}
	knee := Step{Load: Load{Rate: 760}, Requests: 3800, Goodput: 758, Mean: 24 * ms, P50: 22 * ms, High: 50 * ms, InFlight: 18.2}
	beyond := Step{Load: Load{Rate: 798}, Requests: 3990, Goodput: 790, Verdict: Short}
	return &Curve{
		Unloaded: unloaded, Limit: 66 * ms, Steps: []Step{unloaded, knee, beyond}, Knee: knee, Beyond: &beyond, End: Found,
		Seats: Seats{Seats: 16, Measured: true, Nearest: 16, Goodput: 790, Highest: 800, Latency: 20 * ms, High: 23 * ms},
	}
}

func TestRatesAreWrittenRoundedDownAndWhole(t *testing.T) {
	for rate, want := range map[float64]string{
		682.2: "680/s", 99: "99/s", 10: "10/s", 9.99: "590/60s", 1: "60/60s", 0.5: "30/60s", 0.1: "360/1h", 0.01: "36/1h", 1e-9: "1/1h", 123456: "120000/s",
	} {
		if got := configRate(rate); got != want {
			t.Errorf("%v: %s, want %s", rate, got, want)
		}
	}
}

func TestWaitsAreWrittenRoundedUp(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		0: 100 * ms, 100 * ms: 100 * ms, 101 * ms: 200 * ms, 230 * ms: 500 * ms, 600 * ms: time.Second, 11 * time.Second: 20 * time.Second,
		49 * time.Second: 50 * time.Second, 51 * time.Second: time.Minute, time.Hour: time.Minute,
	} {
		if got := configWait(d); got != want {
			t.Errorf("%v: %v, want %v", d, got, want)
		}
	}
}

func TestTheAdviceFollowsFromTheCurve(t *testing.T) {
	limited := found()
	limited.Beyond.Verdict = Refused
	none := found()
	none.Beyond, none.End, none.Seats = nil, NoKnee, Seats{Seats: 19, Goodput: 758, Highest: 758, High: 50 * ms}
	wishes := Wishes{Pool: "shared", Semantic: "chat", Level: "realtime", Callers: 1, Headroom: 0.1}
	many := wishes
	many.Callers, many.Headroom = 100, 0.5
	for _, step := range []struct {
		name   string
		curve  *Curve
		wishes Wishes
		want   Advice
		says   string
	}{
		{"a knee", found(), wishes, Advice{Seats: 16, PoolRate: 682.2, Rate: "680/s", MaxWait: 500 * ms}, "it was tried"},
		{"a hundred callers", found(), many, Advice{Seats: 16, PoolRate: 379, Rate: "220/60s", MaxWait: 500 * ms}, "for each of 100"},
		{"a limit of its own", limited, wishes, Advice{Seats: 16, PoolRate: 682.2, Rate: "680/s", MaxWait: 500 * ms, Ceiling: true}, `over_rate = "pace"`},
		{"no knee", none, wishes, Advice{Seats: 19, PoolRate: 682.2, Rate: "680/s", MaxWait: 500 * ms}, "the least that is known to be good"},
	} {
		got := Advise(step.curve, step.wishes)
		if got != step.want {
			t.Errorf("%s: %+v, want %+v", step.name, got, step.want)
		}
		text := got.TOML(step.curve, step.wishes)
		if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(text, "\n#", "")), " "), step.says) {
			t.Errorf("%s: %q is not said:\n%s", step.name, step.says, text)
		}
		var parsed struct {
			Pools []struct {
				Name  string
				Seats int
			}
			Semantics []struct {
				Name, Level, Rate string
				Cost              int
				MaxWait           string `toml:"max_wait"`
				OverRate          string `toml:"over_rate"`
			}
		}
		if err := toml.NewDecoder(strings.NewReader(text)).DisallowUnknownFields().Decode(&parsed); err != nil {
			t.Errorf("%s: %v\n%s", step.name, err, text)
			continue
		}
		if len(parsed.Pools) != 1 || parsed.Pools[0].Seats != got.Seats || len(parsed.Semantics) != 1 || parsed.Semantics[0].Rate != got.Rate ||
			parsed.Semantics[0].MaxWait != "500ms" || parsed.Semantics[0].Name != "chat" || (parsed.Semantics[0].OverRate == "pace") != got.Ceiling {
			t.Errorf("%s: %+v", step.name, parsed)
		}
	}
}

func TestThePieceOfConfigReads(t *testing.T) {
	const file = "testdata/advice.golden.toml"
	wishes := Wishes{Pool: "shared", Semantic: "chat", Level: "realtime", Callers: 4, Headroom: 0.1}
	got := Advise(found(), wishes).TOML(found(), wishes)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
	}
}
