package gateway

import (
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/config"
)

func TestTheClientIsTheLastStrangerFromTheRight(t *testing.T) {
	trusted, err := parseTrustedProxies([]string{"10.0.0.0/8", "2001:db8:1::/48", "192.0.2.1", "::ffff:172.16.0.0/108"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, peer string
		lines      []string
		want       string
	}{
		{"a stranger's word is not taken", "203.0.113.9", []string{"1.2.3.4"}, "203.0.113.9"},
		{"no field", "10.0.0.1", nil, "10.0.0.1"},
		{"one hop", "10.0.0.1", []string{"1.2.3.4"}, "1.2.3.4"},
		{"the client's own invention is ignored", "10.0.0.1", []string{"6.6.6.6, 1.2.3.4"}, "1.2.3.4"},
		{"through two proxies", "10.0.0.1", []string{"6.6.6.6, 1.2.3.4, 10.9.9.9"}, "1.2.3.4"},
		{"in two lines", "10.0.0.1", []string{"6.6.6.6, 1.2.3.4", "192.0.2.1"}, "1.2.3.4"},
		{"only proxies", "10.0.0.1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"ports", "10.0.0.1", []string{"1.2.3.4:567"}, "1.2.3.4"},
		{"IPv6", "2001:db8:1::5", []string{"2001:db8:2::7"}, "2001:db8:2::7"},
		{"IPv6 with port", "10.0.0.1", []string{"[2001:db8:2::7]:443"}, "2001:db8:2::7"},
		{"mapped", "::ffff:10.0.0.1", []string{"::ffff:1.2.3.4"}, "1.2.3.4"},
		{"a mapped network", "172.17.0.1", []string{"1.2.3.4"}, "1.2.3.4"},
		{"nonsense", "10.0.0.1", []string{"1.2.3.4, unknown"}, "10.0.0.1"},
		{"nonsense behind a proxy", "10.0.0.1", []string{"1.2.3.4, unknown, 10.0.0.2"}, "10.0.0.2"},
		{"zone", "10.0.0.1", []string{"fe80::1%eth0"}, "10.0.0.1"},
		{"empty", "10.0.0.1", []string{""}, "10.0.0.1"},
		{"bad ports", "10.0.0.1", []string{"1.2.3.4:x"}, "10.0.0.1"},
	} {
		var h fasthttp.RequestHeader
		for _, l := range c.lines {
			h.Add("X-Forwarded-For", l)
		}
		peer := netip.MustParseAddr(c.peer).Unmap()
		if got := trusted.clientAddress(peer, &h); got != netip.MustParseAddr(c.want) {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
	var nobody *trustedProxies
	if nobody.trusts(netip.MustParseAddr("127.0.0.1")) {
		t.Error("nil trusts somebody")
	}
	if _, err := parseTrustedProxies([]string{"10.0.0.0/33"}); err == nil || !strings.Contains(err.Error(), `"10.0.0.0/33"`) {
		t.Errorf("error %v", err)
	}
}

func TestAddressesAreCountedByIPv4AndByIPv6Network(t *testing.T) {
	for in, want := range map[string]string{
		"1.2.3.4": "1.2.3.4", "::ffff:1.2.3.4": "1.2.3.4", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::", "fe80::1%eth0": "fe80::",
	} {
		if got := addressKey(netip.MustParseAddr(in)); got != netip.MustParseAddr(want) {
			t.Errorf("%s: %v, want %s", in, got, want)
		}
	}
	if got := addressKey(netip.Addr{}); got.IsValid() {
		t.Errorf("no address: %v", got)
	}
}

func FuzzForwardedAddress(f *testing.F) {
	for _, s := range []string{"1.2.3.4", "1.2.3.4:5", "[::1]:5", "[::1]", "::1", "[", "]:", "1:2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, ok := forwardedAddress(s)
		if !ok {
			return
		}
		if !a.IsValid() || a.Zone() != "" || a.Is4In6() {
			t.Fatalf("%q: %v", s, a)
		}
		if again, ok := forwardedAddress(a.String()); !ok || again != a {
			t.Fatalf("%q: %v, then %v", s, a, again)
		}
	})
}

func TestAnAddressHasItsRateAndNoMore(t *testing.T) {
	a := newAddressLimit(config.Rate{N: 10, Per: time.Second})
	t0 := time.Now()
	at := func(ms int) time.Time { return t0.Add(time.Duration(ms) * time.Millisecond) }
	one, other := netip.MustParseAddr("1.2.3.4"), netip.MustParseAddr("1.2.3.5")
	for range 10 {
		if ok, _ := a.take(at(0), one); !ok {
			t.Fatal("refused within its rate")
		}
	}
	ok, wait := a.take(at(0), one)
	if ok || wait != 100*time.Millisecond {
		t.Fatalf("the eleventh: %v, wait %v", ok, wait)
	}
	if ok, _ := a.take(at(0), other); !ok {
		t.Error("another address pays for it")
	}
	if ok, _ := a.take(at(99), one); ok {
		t.Error("too early")
	}
	if ok, _ := a.take(at(100), one); !ok {
		t.Error("not when it was told")
	}
	// a new rate keeps what was used
	a.apply(config.Rate{N: 20, Per: time.Second})
	passed := 0
	for range 30 {
		if ok, _ := a.take(at(100), one); ok {
			passed++
		}
	}
	if passed != 10 {
		t.Errorf("%d passed, want the 10 that the bucket became deeper", passed)
	}
	a.apply(config.Rate{})
	if ok, _ := a.take(at(100), one); !ok {
		t.Error("off, and refuses")
	}
}

func TestAMillionAddressesStayBoundedAndFreeNobody(t *testing.T) {
	a := newAddressLimit(config.Rate{N: 5, Per: time.Minute})
	now := time.Now()
	heavy := netip.MustParseAddr("203.0.113.7")
	for range 6 {
		a.take(now, heavy)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	shared := 0
	for i := range uint32(1_000_000) {
		if ok, _ := a.take(now, netip.AddrFrom4([4]byte{byte(i >> 16), byte(i >> 8), byte(i), 1})); !ok {
			shared++
		}
	}
	if n := a.addresses(); n > addressShards*shardAddresses {
		t.Errorf("%d addresses kept", n)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("%d MiB for them", grown>>20)
	}
	if shared == 0 {
		t.Error("the addresses past the bound were not held to a common rate")
	}
	if ok, _ := a.take(now, heavy); ok {
		t.Error("the flood washed the held-back address free")
	}
	// once their buckets are full again, they make room
	later := now.Add(2 * time.Minute)
	if ok, _ := a.take(later, netip.MustParseAddr("198.51.100.1")); !ok {
		t.Error("no room after the flood")
	}
	runtime.KeepAlive(a)
}

func TestManyTakeFromOneAddressAtOnce(t *testing.T) {
	a := newAddressLimit(config.Rate{N: 100, Per: time.Hour})
	now := time.Now()
	var mu sync.Mutex
	passed := 0
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if ok, _ := a.take(now, netip.MustParseAddr("1.2.3.4")); ok {
					mu.Lock()
					passed++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if passed != 100 {
		t.Errorf("%d passed, want 100", passed)
	}
}

func TestAKnownAddressIsCountedWithoutAllocation(t *testing.T) {
	a := newAddressLimit(config.Rate{N: 1 << 40, Per: time.Second})
	now, one := time.Now(), netip.MustParseAddr("2001:db8::1")
	if n := testing.AllocsPerRun(100, func() { a.take(now, one) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
