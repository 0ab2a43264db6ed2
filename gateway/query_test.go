package gateway

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// parameters splits a query as it was sent, and decodes names and values one by one; ok: net/url has no fault
// to find in it either.
func parameters(target string) (pairs, names, values []string, ok bool) {
	_, query, found := strings.Cut(target, "?")
	if !found {
		return nil, nil, nil, true
	}
	ok = true
	for _, pair := range strings.Split(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		k, err1 := url.QueryUnescape(key)
		v, err2 := url.QueryUnescape(value)
		ok = ok && err1 == nil && err2 == nil
		pairs, names, values = append(pairs, pair), append(names, k), append(values, v)
	}
	return pairs, names, values, ok
}

// What is taken from a query is what the standard library would see under that name, and what is passed on is
// every other pair, byte for byte.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"/x", "/x?", "/x?apikey=k", "/x?a=b&apikey=k&c=%64", "/x?%61pikey=k+l%20m", "/x?apikey", "/x?apikey=", "/x?apikey=1&apikey=2", "/x?&&apikey=1&&",
		"/x?api+key=1", "/x?apikey=a=b", "/x?apikey=%zz", "/x?%zz=1&apikey=%", "/x?a?apikey=1", "/x?APIKEY=1", "/x?apikey%00=1", "/x?%3Fapikey=1",
	} {
		f.Add(seed, "apikey")
	}
	f.Add("/x?a+b=1&a%20b=2", "a b")
	f.Add("/x?=1", "")
	f.Fuzz(func(t *testing.T, target, name string) {
		before := strings.Clone(target)
		value := queryValue([]byte(target), name)
		rest, cut := withoutQuery([]byte(target), name)
		twice := repeated([]byte(target), name)
		if target != before {
			t.Fatal("the target was written to")
		}
		if again := queryValue(rest, name); again != nil {
			t.Errorf("%q without %q is %q, which has it still: %q", target, name, rest, again)
		}
		if _, more := withoutQuery(rest, name); more {
			t.Errorf("%q without %q twice is another", target, name)
		}
		if value != nil && !cut { // one without a value has none to give, and is taken out all the same
			t.Errorf("%q: the value of %q is %q, and cut is %v", target, name, value, cut)
		}
		if !cut && string(rest) != target {
			t.Errorf("%q became %q", target, rest)
		}
		pairs, names, values, ok := parameters(target)
		if !ok {
			return // a broken escape: the standard library throws such a pair away, upstreams may not
		}
		var kept []string
		n := 0
		for i := range pairs {
			if names[i] != name {
				kept = append(kept, pairs[i])
				continue
			}
			if n++; n == 1 && string(value) != values[i] {
				t.Errorf("%q: %q = %q, want %q", target, name, value, values[i])
			}
		}
		if twice != (n > 1) || cut != (n > 0) {
			t.Errorf("%q has %q %d times; repeated %v, cut %v", target, name, n, twice, cut)
		}
		path, _, _ := strings.Cut(target, "?")
		want := target
		if cut {
			want = path
			if len(kept) > 0 {
				want += "?" + strings.Join(kept, "&")
			}
		}
		if string(rest) != want {
			t.Errorf("%q without %q is %q, want %q", target, name, rest, want)
		}
		// As net/url sees it, where it looks at the whole of it.
		_, query, _ := strings.Cut(target, "?")
		if all, err := url.ParseQuery(query); err == nil && name != "" {
			if got := all[name]; (len(got) > 0) != cut || cut && got[0] != string(value) {
				t.Errorf("%q: net/url has %q = %q, and this %q", target, name, got, value)
			}
			delete(all, name)
			_, restQuery, _ := strings.Cut(string(rest), "?")
			left, err := url.ParseQuery(restQuery)
			if err != nil || len(left) != len(all) {
				t.Errorf("%q leaves %v (%v), want %v", target, left, err, all)
			}
			for k, v := range all {
				if !slices.Equal(left[k], v) {
					t.Errorf("%q leaves %q = %q, want %q", target, k, left[k], v)
				}
			}
		}
	})
}

func FuzzMaxWait(f *testing.F) {
	for _, seed := range []string{
		"0", "1.5s", "200ms", "1h", "24h", "24h0m0.000000001s", "-1s", "-0s", "soon", "5", "1.5", "1e3s", "9999999999999h", "NaN", "+2s", " 1s", "1s ", "1 s", "0x10s", ".5s", ".s", "s", "1\x00s", "2540400h10m10.000000000s", "1µs", "1\xffs", "NaNs", "infs",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		wait, ok := parseMaxWait([]byte(s))
		if !ok {
			if d, err := time.ParseDuration(s); err == nil && d >= 0 && d <= longestWait {
				t.Errorf("%q is a duration", s)
			}
			return
		}
		if wait < 0 || wait > longestWait {
			t.Errorf("%q is %v", s, wait)
		}
		if again, ok := parseMaxWait([]byte(wait.String())); !ok || again != wait {
			t.Errorf("%q is %v, and that is %v", s, wait, again)
		}
	})
}
