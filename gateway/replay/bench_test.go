package replay

import "testing"

const benchConfig = `
[[pools]]
name = "shared"
seats = 64
[[semantics]]
name = "chat"
level = "realtime"
rate = "200/s"
max_wait = "2s"
[[semantics]]
name = "default"
level = "batch"
rate = "5/s"
max_wait = "5s"
[[levels]]
name = "realtime"
[[levels]]
name = "batch"
[[plans]]
name = "free"
[[upstreams]]
name = "api"
targets = [{ url = "builtin:sample" }]
[[routes]]
name = "chat"
path = "/v1/chat/*"
upstream = "api"
semantics = ["chat"]
`

// BenchmarkReplay plays 60 requests a second of one caller.
func BenchmarkReplay(b *testing.B) {
	e, err := NewEngine(configFor(b, benchConfig), Play{})
	if err != nil {
		b.Fatal(err)
	}
	o := newOrigins(10).origin(originKey{Caller: "acme", Type: "chat"})
	var bin bin
	from := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		for bin.left <= 0 {
			bin = newBin(o, from, 1e9, 60, Random, 1)
			from += 1e9
		}
		a := Arrival{At: bin.at, Origin: o}
		bin.next()
		e.Arrive(&a)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
