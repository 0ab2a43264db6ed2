package config

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestRatesAreReadAndShownAsWritten(t *testing.T) {
	for text, want := range map[string]Rate{
		"200/s":   {N: 200, Per: time.Second},
		"20/60s":  {N: 20, Per: time.Minute},
		"5/min":   {N: 5, Per: time.Minute},
		"5/5min":  {N: 5, Per: 5 * time.Minute},
		"5/m":     {N: 5, Per: time.Minute},
		"5/1h":    {N: 5, Per: time.Hour},
		"5/h":     {N: 5, Per: time.Hour},
		"1/100ms": {N: 1, Per: 100 * time.Millisecond},
		"1/1m30s": {N: 1, Per: 90 * time.Second},
		"":        {},
	} {
		var r Rate
		if err := r.UnmarshalText([]byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		want.Text = text
		if r != want || r.String() != text {
			t.Errorf("%q = %+v, shown %q", text, r, r.String())
		}
	}
}

func TestRatesThatCannotBeAreRefused(t *testing.T) {
	for _, text := range []string{
		"200", "/s", "200/", "0/s", "-5/s", "+5/s", "5/-1s", "5/+1s", "5/0s", "5/2h", "5/1h1s", "5/d", "5/.5s",
		"1.5/s", "1e3/s", "NaN/s", "Inf/s", " 5/s", "5/ s", "5 /s", "5/s ", "5/s/s", "1_000/s", "5/1.5min", "0x10/s",
		"99999999999999999999/s", "9223372036854775807/s", "4000000001/s", "1111112/h",
	} {
		r := Rate{N: 7}
		if err := r.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q = %+v, want an error", text, r)
		} else if r.N != 7 {
			t.Errorf("%q: an error, and still the rate was changed", text)
		}
	}
}

func TestRateAsAmountPerSecond(t *testing.T) {
	for text, want := range map[string]float64{"200/s": 200, "20/60s": 1. / 3, "5/100ms": 50, "": 0} {
		var r Rate
		if err := r.UnmarshalText([]byte(text)); err != nil || math.Abs(r.PerSecond()-want) > 1e-12 {
			t.Errorf("%q = %v a second, %v", text, r.PerSecond(), err)
		}
		if r.IsZero() != (text == "") {
			t.Errorf("%q: IsZero = %v", text, r.IsZero())
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]string{
		"250ms": "250ms", "0s": "0s", "0": "0s", "60s": "1m", "75s": "1m15s", "1h": "1h", "90m": "1h30m", "8760h": "8760h", "1h0m5s": "1h0m5s",
	} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || d.String() != want {
			t.Errorf("%q = %s, %v; want %s", text, d, err, want)
		}
	}
	for _, text := range []string{"", "5", "-1s", "s", "1d", "NaN", "Inf", "8761h", "99999999999h", "1 s"} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q = %s, want an error", text, d)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]Size{
		"512": 512, "0": 0, "1B": 1, "64KiB": 64 << 10, "8MiB": 8 << 20, "1GiB": 1 << 30, "500KB": 500_000, "5MB": 5_000_000, "2GB": 2_000_000_000,
	} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%q = %d, %v; want %d", text, int64(s), err, int64(want))
		}
	}
	for _, text := range []string{
		"", "-1", "-1KiB", "KiB", "1.5MiB", "1 KiB", "1kib", "1TiB", "1e3", "NaN", "Inf", "1_000", "9223372036854775808", "9007199254740992KiB", "99999999999GiB",
	} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q = %d, want an error", text, int64(s))
		}
	}
	for size, want := range map[Size]string{0: "0B", 512: "512B", 1024: "1KiB", 1500: "1500B", 8 << 20: "8MiB", 3 << 30: "3GiB"} {
		if size.String() != want {
			t.Errorf("%d is shown as %q, want %q", int64(size), size, want)
		}
	}
}

func TestSeats(t *testing.T) {
	for text, want := range map[string]Seats{"1": {N: 1}, "64": {N: 64}, "auto": {Auto: true}} {
		var s Seats
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want || s.String() != text {
			t.Errorf("%q = %+v, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "Auto", "1.5", "10000001", "99999999999999999999"} {
		var s Seats
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q = %+v, want an error", text, s)
		}
	}
}

func TestOffPeakSpans(t *testing.T) {
	for text, want := range map[string][2]int{
		"01:00-06:00": {60, 360}, "22:30-05:15": {1350, 315}, "00:00-23:59": {0, 1439}, "18:00-24:00": {1080, 0},
	} {
		var o OffPeak
		if err := o.UnmarshalText([]byte(text)); err != nil || o.From != want[0] || o.To != want[1] || o.String() != text {
			t.Errorf("%q = %+v, %v", text, o, err)
		}
	}
	for _, text := range []string{"", "-", "01:00", "1:00-6:00", "01:00-01:00", "00:00-24:00", "24:00-06:00", "01:60-06:00", "01:00-25:00", "01:00-06:00-07:00", "aa:bb-cc:dd"} {
		var o OffPeak
		if err := o.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q = %+v, want an error", text, o)
		}
	}
}

func TestValuesAreTextInJSON(t *testing.T) {
	b, err := json.Marshal(struct {
		R Rate
		D Duration
		S Size
		A Seats
	}{Rate{N: 5, Per: time.Minute, Text: "5/min"}, Duration{time.Minute}, 8 * mib, Seats{Auto: true}})
	if want := `{"R":"5/min","D":"1m","S":"8MiB","A":"auto"}`; err != nil || string(b) != want {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
}

// fuzzText holds a value type to: what is read is written so that it is read as the same again, an error
// leaves the value alone, and check holds for whatever was accepted.
func fuzzText[T any, P interface {
	*T
	encoding.TextUnmarshaler
	encoding.TextMarshaler
}](f *testing.F, check func(t *testing.T, text string, v T), seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v, zero T
		if err := P(&v).UnmarshalText([]byte(text)); err != nil {
			if !reflect.DeepEqual(v, zero) {
				t.Fatalf("%q: %v, and still %+v", text, err, v)
			}
			return
		}
		check(t, text, v)
		out, err := P(&v).MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var again T
		if err := P(&again).UnmarshalText(out); err != nil || !reflect.DeepEqual(again, v) {
			t.Fatalf("%q was written %q and read as %+v, %v; want %+v", text, out, again, err, v)
		}
	})
}

func FuzzRate(f *testing.F) {
	fuzzText[Rate](f, func(t *testing.T, text string, r Rate) {
		if text == "" {
			return
		}
		if r.N < 1 || r.Per <= 0 || r.Per > time.Hour || r.Text != text || float64(r.N)*float64(r.Per) > 4.0001e18 {
			t.Fatalf("%q = %+v", text, r)
		}
	}, "200/s", "20/60s", "5/min", "5/1h", "1/1m30s", "0/s", "5/-1s", "1111111/h", "")
}

func FuzzDuration(f *testing.F) {
	fuzzText[Duration](f, func(t *testing.T, text string, d Duration) {
		if d.Duration < 0 || d.Duration > maxDuration {
			t.Fatalf("%q = %s", text, d)
		}
	}, "250ms", "1m30s", "0s", "8760h", "-1s", "1h0m0s")
}

func FuzzSize(f *testing.F) {
	fuzzText[Size](f, func(t *testing.T, text string, s Size) {
		if s < 0 || strings.HasPrefix(text, "-") {
			t.Fatalf("%q = %d", text, int64(s))
		}
	}, "512", "64KiB", "8MiB", "5GB", "9223372036854775807", "-1")
}

func FuzzSeats(f *testing.F) {
	fuzzText[Seats](f, func(t *testing.T, text string, s Seats) {
		if s.Auto != (text == "auto") || !s.Auto && (s.N < 1 || s.N > maxCount) {
			t.Fatalf("%q = %+v", text, s)
		}
	}, "64", "auto", "0", "99999999999")
}

func FuzzOffPeak(f *testing.F) {
	fuzzText[OffPeak](f, func(t *testing.T, text string, o OffPeak) {
		if o.From < 0 || o.From > 1439 || o.To < 0 || o.To > 1439 || o.From == o.To {
			t.Fatalf("%q = %+v", text, o)
		}
	}, "01:00-06:00", "22:00-24:00", "24:00-01:00")
}
