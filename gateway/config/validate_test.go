package config

import (
	"strings"
	"testing"
)

// Each case writes one thing wrong into this file, by putting a line in place of a comment that marks it.
const whole = `[server]
#server
[admin]
#admin
[identify]
#identify
[detector]
#detector
[queue]
#queue
[[levels]]
name = "realtime"
#level
[[levels]]
name = "batch"
min_share = 0.05
[[pools]]
name = "shared"
#pool
[[pools]]
name = "vip"
[[semantics]]
name = "chat"
level = "realtime"
rate = "200/s"
#chat
[[semantics]]
name = "bulk"
level = "batch"
rate = "100/s"
cost = 50
[[semantics]]
name = "default"
level = "batch"
rate = "5/s"
[[plans]]
name = "free"
#plan
rules = [
  { semantic = "chat", rate = "10/s" },
  #rule
]
[[plans]]
name = "paid"
[[upstreams]]
name = "api"
targets = [{ url = "http://10.0.0.5:8080" }]
#upstream
[[routes]]
name = "chat"
path = "/v1/chat/*"
upstream = "api"
semantics = ["chat"]
#route
[[callers]]
id = "acme"
keys = ["sha256:0000000000000000000000000000000000000000000000000000000000000001"]
semantics = ["chat", "bulk"]
#caller
[[callers]]
id = "visitors"
#end
`

// put replaces the marks of whole: each edit is "mark: text".
func put(t *testing.T, edits ...string) string {
	t.Helper()
	text := whole
	for _, e := range edits {
		mark, with, _ := strings.Cut(e, ": ")
		if !strings.Contains(text, "#"+mark+"\n") {
			t.Fatalf("no mark #%s", mark)
		}
		text = strings.Replace(text, "#"+mark+"\n", with+"\n", 1)
	}
	return text
}

func TestWholeIsValid(t *testing.T) { load(t, whole) }

func TestImpossibleValuesAreReportedWithKeyPlaceAndRemedy(t *testing.T) {
	const hash1 = "0000000000000000000000000000000000000000000000000000000000000001"
	const hash2 = "0000000000000000000000000000000000000000000000000000000000000002"
	route := "[[routes]]\nname = \"two\"\nupstream = \"api\"\n"
	for _, tc := range []struct{ edit, want string }{
		// Keys that are none.
		{`server: listn = "x"`, `2:1: server.listn: no such key in server; did you mean "listen"?`},
		{`route: max_wait = "1s"`, `54:1: routes.chat.max_wait: no such key in routes.chat; there is semantics[].max_wait, plans[].rules[].max_wait`},
		{`rule: { semantik = "chat" },`, `41:5: plans.free.rules[1].semantik: no such key in plans.free.rules[1]; did you mean "semantic"?`},
		{"end: [serverr]", `62:2: serverr: no such key; did you mean "server"?`},
		{`server: "server.listen" = "x"`, `2:1: server.server.listen: no such key in server`},
		// Kinds.
		{`server: max_connections = "5"`, `2:1: server.max_connections = "5": a whole number is wanted here, not text`},
		{`server: max_connections = 1.5`, `2:1: server.max_connections = 1.5: a whole number is wanted here, not a number`},
		{`server: max_connections = nan`, `2:1: server.max_connections = NaN: a whole number is wanted here, not a number`},
		{`server: max_connections = 99999999999999999999`, `2:19: `},
		{`server: trusted_proxies = "10.0.0.0/8"`, `2:1: server.trusted_proxies: a list is wanted here, not text; write ["...", ...]`},
		{`server: listen = 8080`, `2:1: server.listen = 8080: text is wanted here, not a whole number; put it into quotes`},
		{`detector: enabled = "yes"`, `8:1: detector.enabled = "yes": true or false is wanted here, not text; write true or false, without quotes`},
		{`detector: ratio = nan`, `8:1: detector.ratio = NaN: not a number one can calculate with`},
		{`detector: ratio = inf`, `8:1: detector.ratio = +Inf: not a number one can calculate with`},
		{`detector: ratio = "2"`, `8:1: detector.ratio = "2": a number is wanted here, not text`},
		{`queue: off_peak = [01:00:00]`, `10:13: queue.off_peak[0]: text is wanted here, not a date or time (is it meant to be in quotes?)`},
		{`upstream: health = "/"`, `48:1: upstreams.api.health: a table is wanted here, not text; write { key = value, ... }`},
		{`rule: 5,`, `41:3: plans.free.rules[1]: a table is wanted here, not a whole number; write { key = value, ... }`},
		// One fault, one line: what is none cannot lack a url as well.
		{"end: [[upstreams]]\nname = \"x\"\ntargets = [\"http://a:1\"]", `64:12: upstreams.x.targets[0]: a table is wanted here, not text; write { key = value, ... }`},
		// Notations.
		{`server: rate_per_ip = "200"`, `2:1: server.rate_per_ip = "200": not a rate; write it as amount/span, like "200/s", "20/60s", "5/min" or "5/1h"`},
		{`server: rate_per_ip = "-5/s"`, `2:1: server.rate_per_ip = "-5/s": not a rate`},
		{`server: max_body_bytes = -5`, `2:1: server.max_body_bytes = -5: a size cannot be negative`},
		{`server: body_timeout = 30`, `2:1: server.body_timeout = 30: a duration needs a unit`},
		{`server: body_timeout = "-1s"`, `2:1: server.body_timeout = "-1s": a duration cannot be negative`},
		{`queue: off_peak = ["1-6"]`, `10:13: queue.off_peak[0] = "1-6": not a span of the day; write it like "01:00-06:00"`},
		{`pool: seats = 0`, `19:1: pools.shared.seats = 0: seats are a whole number from 1 to 10000000, or "auto"`},
		// Server and admin.
		{`server: listen = "8080"`, `2:1: server.listen = "8080": not an address to listen on`},
		{`server: listen = "127.0.0.1:99999"`, `2:1: server.listen = "127.0.0.1:99999": a port is a number from 0 to 65535`},
		{`server: listen = "example.com:80"`, `2:1: server.listen = "example.com:80": the host of a listen address is an IP address or localhost`},
		{`server: listen = "127.0.0.1:8081"`, `3:2: admin.listen = "127.0.0.1:8081": the same address as server.listen; give it a port of its own`},
		{`server: mode = "enforced"`, `2:1: server.mode = "enforced": not one of the words allowed here; did you mean "enforce"?`},
		{`server: max_connections = 0`, `2:1: server.max_connections = 0: out of range; allowed is 1 to 10000000`},
		{`server: max_header_bytes = "100B"`, `2:1: server.max_header_bytes = "100B": out of range; allowed is 1KiB to 1MiB`},
		{`server: max_body_memory = "1KiB"`, `2:1: server.max_body_memory = "1KiB": less than one body_buffer (64KiB): no body would fit`},
		{`server: idle_timeout = "0s"`, `2:1: server.idle_timeout = "0s": a time above 0 is needed here`},
		{`server: trusted_proxies = ["10.1.0.0/8"]`, `2:20: server.trusted_proxies[0] = "10.1.0.0/8": the address has bits outside its range; the range is "10.0.0.0/8"`},
		{`server: trusted_proxies = ["10.0.0.0/33"]`, `2:20: server.trusted_proxies[0] = "10.0.0.0/33": not an address range`},
		{`admin: listen = ":8081"`, `4:1: admin.listen = ":8081": off loopback a token is needed; add admin.tokens`},
		{`admin: tokens = [{ role = "owner", sha256 = "` + hash1 + `" }]`, `4:11: admin.tokens[0].name: must be given`},
		{`admin: tokens = [{ name = "ops", sha256 = "` + hash1 + `" }]`, `4:11: admin.tokens.ops.role: must be given; choose from "viewer", "operator", "owner"`},
		{`admin: tokens = [{ name = "ops", role = "owner" }]`, `4:11: admin.tokens.ops.sha256: must be given`},
		{`admin: tokens = [{ name = "ops", role = "owne", sha256 = "` + hash1 + `" }]`, `4:27: admin.tokens.ops.role = "owne": not one of the words allowed here; did you mean "owner"?`},
		// Record.
		{"end: [record]\n" + `dir = "data"`, `63:1: record.dir = "data": the same directory as state.dir; give the trace a directory of its own`},
		{"end: [record]\n" + `file_bytes = "1KiB"`, `63:1: record.file_bytes = "1KiB": out of range; allowed is 64KiB to 1024GiB`},
		{"end: [record]\n" + `max_bytes = "100MiB"`, `63:1: record.max_bytes = "100MiB": less than two files of record.file_bytes (64MiB)`},
		{"end: [record]\n" + `file_span = "0s"`, `63:1: record.file_span = "0s": at least 1s is needed here`},
		{`chat: observe = "yes"`, `26:1: semantics.chat.observe = "yes": true or false is wanted here, not text`},
		// Identify.
		{`identify: key = []`, `6:1: identify.key: at least one place is needed`},
		{`identify: key = ["cookie:x"]`, `6:8: identify.key[0] = "cookie:x": a place is "header:NAME" or "query:NAME"`},
		{`identify: key = ["header:"]`, `6:8: identify.key[0] = "header:": not the name of a header`},
		{`identify: key = ["header:Host"]`, `6:8: identify.key[0] = "header:Host": the header Host has a meaning of its own`},
		{`identify: semantic = ["bearer"]`, `6:13: identify.semantic[0] = "bearer": only a key comes as "bearer"`},
		{`identify: semantic = ["header:x-api-key"]`, `6:13: identify.semantic[0] = "header:x-api-key": the place is in use already, by identify.key[0]`},
		{`identify: anonymous = "visitor"`, `6:1: identify.anonymous = "visitor": no such caller; did you mean "visitors"?`},
		{`identify: anonymous = "acme"`, `6:1: identify.anonymous = "acme": this caller has keys (line 55); who comes without a key`},
		{`plan: count_by = "tenant"` + "\n#" + `;identify: tenant = []`, `plans.free.count_by = "tenant": no place is given where requests carry their tenant`},
		// Detector.
		{`detector: ratio = 1`, `8:1: detector.ratio = 1: a ratio is above 1 and at most 1000`},
		{`detector: window = "1ms"`, `8:1: detector.window = "1ms": at least 100ms is needed here`},
		{`detector: window = "10s"`, `8:1: detector.window = "10s": at most 6.4s is looked back here`},
		{`detector: min_rate = ""`, `8:1: detector.min_rate = "": a rate is needed`},
		{`detector: learn = "500ms"`, `8:1: detector.learn = "500ms": shorter than detector.window (1s)`},
		// Levels and pools.
		{`level: min_share = 0.96`, `16:1: levels.batch.min_share = 0.05: the levels up to this one are promised 1.01 of the seat time; together it is at most 1`},
		{`level: min_share = -0.1`, `13:1: levels.realtime.min_share = -0.1: a share is from 0 to 1`},
		{"level: [[levels]]\nname = \"batch\"", `16:1: levels.batch.name = "batch": there is a level of this name already, at line 14`},
		{"level: [[levels]]\nname = \"Low\"", `14:1: levels.Low.name = "Low": a name is 1 to 64 of a-z, 0-9, '.', '_' and '-'`},
		{"level: [[levels]]\nname = \"a/b\"", `14:1: levels."a/b".name = "a/b": a name is 1 to 64`},
		{"level: [[levels]]", `13:3: levels[1].name: must be given; every level has a name`},
		{`pool: excess_ceiling = 0`, `19:1: pools.shared.excess_ceiling = 0: a share is above 0 and at most 1; 1 is all of it`},
		{`pool: max_flow_share = 1.1`, `19:1: pools.shared.max_flow_share = 1.1: a share is above 0 and at most 1`},
		{`pool: max_waiting = -1`, `19:1: pools.shared.max_waiting = -1: out of range; allowed is 0 to 10000000`},
		// Semantics.
		{"end: [[semantics]]\nname = \"x\"\nrate = \"1/s\"", `62:3: semantics.x.level: must be given; choose from "realtime", "batch"`},
		{"end: [[semantics]]\nname = \"x\"\nlevel = \"batch\"", `62:3: semantics.x.rate: must be given`},
		{"end: [[semantics]]\nname = \"x\"\nlevel = \"bathc\"\nrate = \"1/s\"", `64:1: semantics.x.level = "bathc": no such level; did you mean "batch"?`},
		{`chat: cost = 201`, `26:1: semantics.chat.cost = 201: more than the rate 200/s holds, so that it could never be paid`},
		{"chat: cost = 5\nburst = 4", `26:1: semantics.chat.cost = 5: more than the burst of 4, so that it could never be paid`},
		{`chat: cost = 0`, `26:1: semantics.chat.cost = 0: out of range`},
		{`chat: burst = -1`, `26:1: semantics.chat.burst = -1: out of range`},
		{`chat: burst = 4000000001`, `26:1: semantics.chat.burst = 4000000001: too large for the rate's span`},
		{`chat: max_in_flight = -1`, `26:1: semantics.chat.max_in_flight = -1: out of range`},
		{`chat: over_rate = "wait"`, `26:1: semantics.chat.over_rate = "wait": not one of the words allowed here; choose from "queue", "pace", "reject"`},
		{`chat: message = "a\nb"`, `26:1: semantics.chat.message = "a\nb": control characters and line breaks are not allowed here`},
		{`chat: max_rate = "199/s"`, `26:1: semantics.chat.max_rate = "199/s": less than the rate 200/s; raise it to the rate at least; leave the key out where operators may only lower the rate`},
		{`chat: max_rate = "11999/min"`, `26:1: semantics.chat.max_rate = "11999/min": less than the rate 200/s`},
		{`chat: max_rate = "many"`, `26:1: semantics.chat.max_rate = "many": not a rate`},
		{"chat: cost = 10\nmax_rate = \"9/10ms\"", `27:1: semantics.chat.max_rate = "9/10ms": more than the rate 9/10ms holds, so that it could never be paid; write the same over a longer span`},
		// Plans and rules.
		{`plan: registration = "on"`, `38:1: plans.free.registration = "on": not one of the words allowed here; choose from "auto", "approve", "off"`},
		{`rule: { semantic = "bulk", rate = "60/s", max_rate = "59/s" },`, `41:39: plans.free.rules[1].max_rate = "59/s": less than the rate 60/s, which the rule has for bulk`},
		{`rule: { semantic = "bulk", max_rate = "99/s" },`, `41:24: plans.free.rules[1].max_rate = "99/s": less than the rate 100/s, which the rule has for bulk`},
		{`rule: { max_rate = "99/s" },`, `41:5: plans.free.rules[1].max_rate = "99/s": less than the rate 100/s, which the rule has for bulk`},
		{`rule: { semantic = "bulk", max_rate = "40/100ms" },`, `41:24: plans.free.rules[1].max_rate = "40/100ms": one bulk costs 50: more than the rate 40/100ms holds`},
		{`plan: weight = 0`, `38:1: plans.free.weight = 0: out of range; allowed is 0.001 to 100000`},
		{`plan: count_by = "callers"`, `38:1: plans.free.count_by = "callers": not one of the words allowed here; did you mean "caller"?`},
		{`plan: caller_rate = "49/s"`, `38:1: plans.free.caller_rate = "49/s": one bulk costs 50, more than it ever holds`},
		{`rule: { semantic = "chatt" },`, `41:5: plans.free.rules[1].semantic = "chatt": no such semantic; did you mean "chat"?`},
		{`rule: { route = "chta" },`, `41:5: plans.free.rules[1].route = "chta": no such route; did you mean "chat"?`},
		{`rule: { route = "*", semantic = "bulk" },`, `41:5: plans.free.rules[1].route = "*": any route is meant by not naming one; leave the key out`},
		{`rule: { semantic = "chat" },`, `41:3: plans.free.rules[1]: the plan has a rule free/*/chat already, at line 40; put them into one`},
		{`rule: { rate = "" },`, `41:5: plans.free.rules[1].rate = "": a rate is needed; leave the key out for the semantic's own`},
		{`rule: { burst = 500 },`, `41:5: plans.free.rules[1].burst = 500: rate and burst are one field`},
		{`rule: { level = "low" },`, `41:5: plans.free.rules[1].level = "low": no such level; choose from "realtime", "batch"`},
		{`rule: { semantic = "default", cost = 6 },`, `41:27: plans.free.rules[1].cost = 6: for default: more than the rate 5/s holds`},
		{`rule: { semantic = "bulk", rate = "49/s" },`, `41:24: plans.free.rules[1].rate = "49/s": one bulk costs 50: more than the rate 49/s holds`},
		{`rule: { semantic = "bulk", rate = "100/s", burst = 49 },`, `41:24: plans.free.rules[1].rate = "100/s": one bulk costs 50: more than the burst of 49`},
		// A rule with a rate and no burst is a window, whatever the semantic has.
		{"chat: cost = 100\nburst = 400", `41:24: plans.free.rules[0].rate = "10/s": one chat costs 100: more than the rate 10/s holds`},
		{`rule: { rate = "49/s" },`, `41:5: plans.free.rules[1].rate = "49/s": one bulk costs 50: more than the rate 49/s holds, so that it could never be paid; give the rule a cost, or a larger rate`},
		{`rule: { over_in_flight = "wait" },`, `41:5: plans.free.rules[1].over_in_flight = "wait": not one of the words allowed here`},
		// Upstreams.
		{"end: [[upstreams]]\nname = \"x\"", `62:3: upstreams.x.targets: at least one target is needed`},
		{"end: [[upstreams]]\nname = \"x\"\ntargets = [{ url = \"https://a:1\" }]", `64:14: upstreams.x.targets[0].url = "https://a:1": https to an upstream is not built yet`},
		{"end: [[upstreams]]\nname = \"x\"\ntargets = [{ url = \"a:1\" }]", `not an upstream's address; write it like "http://10.0.0.5:8080"`},
		{"end: [[upstreams]]\nname = \"x\"\ntargets = [{ url = \"http://a:1/\" }]", `an upstream's address has no path: requests keep theirs; write "http://a:1"`},
		{"end: [[upstreams]]\nname = \"x\"\ntargets = [{ url = \"http://u:p@a:1\" }]", `a user or password cannot stand in an upstream's address`},
		{"end: [[upstreams]]\nname = \"x\"\ntargets = [{ url = \"http://a:0\" }]", `a port is a number from 1 to 65535`},
		{"end: [[upstreams]]\nname = \"x\"\ntargets = [{ url = \"http://a b:1\" }]", `not an upstream's address`},
		{"end: [[upstreams]]\nname = \"x\"\ntargets = [{ url = \"builtin:echo\" }]", `the only upstream inside the binary is "builtin:sample"`},
		{"end: [[upstreams]]\nname = \"x\"\ntargets = [{ url = \"http://127.0.0.1:8080\" }]", `this is the gateway's own address (server.listen)`},
		{"end: [[upstreams]]\nname = \"x\"\ntargets = [{ url = \"http://a:1\" }, { url = \"http://A:1\" }]", `64:38: upstreams.x.targets[1].url = "http://A:1": the same target stands at line 64`},
		{"end: [[upstreams]]\nname = \"x\"\ntargets = [{ url = \"http://a:1\", weight = 0 }]", `64:34: upstreams.x.targets[0].weight = 0: out of range`},
		{`upstream: timeout = "0s"`, `48:1: upstreams.api.timeout = "0s": a time above 0 is needed here`},
		// Routes.
		{"end: " + route, `62:3: routes.two.path: must be given`},
		{"end: " + route + `path = "v1"`, `65:1: routes.two.path = "v1": a path begins with "/"`},
		{"end: " + route + `path = "/a*"`, `"*" may only stand at the end, after a slash`},
		{"end: " + route + `path = "/*/a"`, `"*" may only stand at the end, after a slash`},
		{"end: " + route + `path = "/a//b"`, `doubled slashes are taken out of requests`},
		{"end: " + route + `path = "/a/../b"`, `"." and ".." are resolved in requests`},
		{"end: " + route + `path = "/a?b"`, `a pattern has no query and no fragment`},
		{"end: " + route + `path = "/a b"`, `write "/a%20b"`},
		{"end: " + route + `path = "/报表"`, `write "/%E6%8A%A5%E8%A1%A8"`},
		{"end: " + route + `path = "/a%2Fb"`, `an escaped slash, backslash or control character is ambiguous`},
		{"end: " + route + `path = "/a%7F"`, `an escaped slash, backslash or control character is ambiguous`},
		{"end: " + route + `path = "/[a]"`, `write "/%5Ba%5D"`},
		{"end: " + route + `path = "/..;v=1/a"`, `"." and ".." with parameters are ambiguous`},
		{"end: " + route + `path = "/a%C0%AF"`, `an overlong UTF-8 sequence may hide a slash`},
		{"end: " + route + `path = "/a%e6"`, `after % stand two hex digits, in upper case`},
		{"end: " + route + `path = "/%41"`, `%41 is written 'A': requests are brought to that form first`},
		{"end: " + route + "path = \"/a\"\nhost = \"a:80\"", `66:1: routes.two.host = "a:80": not a host name without a port`},
		{"end: " + route + "path = \"/a\"\nmethods = [\"get\"]", `66:12: routes.two.methods[0] = "get": methods are upper-case; write GET`},
		{"end: " + route + "path = \"/a\"\nmethods = [\"CONNECT\"]", `it serves no CONNECT`},
		{"end: " + route + "path = \"/a\"\nsemantics = [\"chat\", \"chat\"]", `66:22: routes.two.semantics[1] = "chat": named twice`},
		{"end: " + route + "path = \"/a\"\nsemantics = [\"chta\"]", `66:14: routes.two.semantics[0] = "chta": no such semantic; did you mean "chat"?`},
		{"end: " + route + "path = \"/a\"\npublic = true", `66:1: routes.two.public = true: a public route needs a caller`},
		{"end: " + route + `path = "/v1/chat/*"`, `65:1: routes.two.path = "/v1/chat/*": the same host, path and method as the route chat at line 49`},
		{"end: " + route + "path = \"/a\"\nmethods = [\"GET\"]\n" + strings.Replace(route, "two", "three", 1) + "path = \"/a\"\nmethods = [\"PUT\", \"GET\"]", `70:1: routes.three.path = "/a": the same host, path and method as the route two at line 62 (GET)`},
		{"end: [[routes]]\nname = \"two\"\npath = \"/a\"\nupstream = \"apj\"", `65:1: routes.two.upstream = "apj": no such upstream; did you mean "api"?`},
		{"end: " + route + `path = "/.tidegate"`, `65:1: routes.two.path = "/.tidegate": /.tidegate/ is where the gateway itself answers its callers; no route leads there; choose another path`},
		{"end: " + route + `path = "/.tidegate/*"`, `65:1: routes.two.path = "/.tidegate/*": /.tidegate/ is where the gateway itself`},
		{"end: " + route + `path = "/.tidegate/v2/x"`, `65:1: routes.two.path = "/.tidegate/v2/x": /.tidegate/ is where the gateway itself`},
		// Callers.
		{"end: [[callers]]", `62:3: callers[2].id: must be given`},
		{"end: [[callers]]\nid = \"a/b\"", `63:1: callers."a/b".id = "a/b": an id is 1 to 128 of`},
		{"end: [[callers]]\nid = \"acme\"", `63:1: callers.acme.id = "acme": there is a caller of this name already, at line 56`},
		{"end: [[callers]]\nid = \"other\"", `the metrics call everyone beyond metrics.max_callers by this name`},
		{`caller: plan = "fre"`, `59:1: callers.acme.plan = "fre": no such plan; did you mean "free"?`},
		{`caller: pool = "vpi"`, `59:1: callers.acme.pool = "vpi": no such pool; did you mean "vip"?`},
		{"end: semantics = [\"chta\"]", `62:14: callers.visitors.semantics[0] = "chta": no such semantic; did you mean "chat"?`},
		{"end: keys = [\"sha256:" + hash1 + "\"]", `62:9: callers.visitors.keys[0] = "00000000...": the same key stands at line 57`},
		{"end: keys = [\"" + hash2[:63] + "g\"]", `62:9: callers.visitors.keys[0]: not a sha256: there is something else than hex digits in it`},
		{"end: keys = [\"" + hash2[:63] + "\"]", `62:9: callers.visitors.keys[0]: a sha256 has 64 hex digits, this has 63 characters`},
		// Alerts and history.
		{"end: [alerts]\n" + `webhook = "hooks.example/secret"`, `63:1: alerts.webhook: not the address of a webhook; write it like "https://hooks.example.com/alerts"`},
		{"end: [alerts]\n" + `webhook = "ftp://hooks.example/x"`, `not the address of a webhook`},
		{"end: [alerts]\n" + `webhook = "https:///x"`, `not the address of a webhook`},
		{"end: [alerts]\n" + `webhook = "https://hooks.example:0/secret"`, `63:1: alerts.webhook = "https://hooks.example:0/...": a port is a number from 1 to 65535`},
		{"end: [alerts]\n" + `webhook = "https://hooks.example/secret#x"`, `63:1: alerts.webhook = "https://hooks.example/...": what stands after "#" is never sent`},
		{"end: [alerts]\n" + `events = ["surge", "vip"]`, `63:20: alerts.events[1] = "vip": not one of the words allowed here`},
		{"end: [alerts]\n" + `events = ["starvaton"]`, `did you mean "starvation"?`},
		{"end: [alerts]\n" + `repeat = "0s"`, `63:1: alerts.repeat = "0s": at least 1s is needed here`},
		{"end: [alerts]\n" + `wait_share = 0`, `63:1: alerts.wait_share = 0: a share is above 0 and at most 1`},
		{"end: [alerts]\n" + `timeout = "2m"`, `63:1: alerts.timeout = "2m": at most 1m is waited for one attempt`},
		{"end: [alerts]\n" + `timeout = "1ms"`, `63:1: alerts.timeout = "1ms": at least 100ms is needed here`},
		{"end: [alerts]\n" + `important_pools = ["vpi"]`, `63:20: alerts.important_pools[0] = "vpi": no such pool; did you mean "vip"?`},
		{"end: [limits]\n" + `history_series = -1`, `63:1: limits.history_series = -1: out of range; allowed is 0 to 1000000`},
		// Not built yet.
		{`queue: ticket_ttl = "5m"`, `10:1: queue.ticket_ttl = "5m": not built yet: only "10m" works`},
		{`pool: seats = "auto"`, `19:1: pools.shared.seats = "auto": "auto" is not built yet; write a number`},
		{`pool: min_seats = 4`, `19:1: pools.shared.min_seats = 4: not built yet: only 0 works`},
		{`pool: max_seats = 4`, `19:1: pools.shared.max_seats = 4: not built yet: only 0 works`},
		{`pool: lend = 4`, `19:1: pools.shared.lend = 4: not built yet: only 0 works`},
		{`pool: borrow = false`, `19:1: pools.shared.borrow = false: not built yet: only true works`},
		{`upstream: balance = "hash"`, `48:1: upstreams.api.balance = "hash": "hash" is not built yet`},
		{`upstream: retries = 0`, `48:1: upstreams.api.retries = 0: not built yet: only 1 works`},
		{`upstream: health = { path = "/h" }`, `48:12: upstreams.api.health.path = "/h": not built yet: only "" works`},
		{`upstream: eject = { failures = 9 }`, `48:11: upstreams.api.eject.failures = 9: not built yet: only 5 works`},
	} {
		t.Run(tc.edit, func(t *testing.T) {
			_, err := LoadBytes("config.toml", []byte(put(t, strings.Split(tc.edit, "\n#;")...)), nil)
			ps, _ := err.(Problems)
			if len(ps) != 1 {
				t.Fatalf("%d problems, want one:\n%v", len(ps), err)
			}
			got, want := ps[0].String(), tc.want
			if '0' <= want[0] && want[0] <= '9' {
				want = "config.toml:" + want
				if !strings.HasPrefix(got, want) {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			} else if !strings.Contains(got, want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestWhatLooksOddAndIsFine(t *testing.T) {
	route := "[[routes]]\nname = \"two\"\nupstream = \"api\"\n"
	for _, edit := range []string{
		`server: listen = "localhost:0"`,
		`server: listen = "[::1]:8080"`,
		`server: listen = "0.0.0.0:8080"`,
		`server: max_body_bytes = 1_000_000`,
		`server: trusted_proxies = ["10.0.0.0/8", "::1", "192.0.2.7"]`,
		`server: mode = "observe"`,
		"admin: tokens = [{ name = \"v\", role = \"viewer\", sha256 = \"SHA\" }]",
		"admin: tokens = [{ name = \"o\", role = \"operator\", sha256 = \"SHA\" }]",
		"end: [record]\ndir = \"traces\"",
		"end: [record]\nfile_bytes = \"1MiB\"\nmax_bytes = \"2MiB\"\nfile_span = \"1s\"",
		"chat: observe = true",
		`rule: { semantic = "bulk", observe = false },`,
		`identify: anonymous = "visitors"`,
		`identify: key = ["query:apikey", "bearer", "header:X-Key"]`,
		`level: min_share = 0.95`,
		`chat: cost = 10`,
		"chat: cost = 10\nburst = 10",
		`plan: caller_rate = "50/s"`,
		`rule: { semantic = "default", rate = "1/h" },`,
		// The plan's rule for any semantic is not the one that holds for bulk.
		"rule: { rate = \"49/s\" },\n{ semantic = \"bulk\", rate = \"60/s\" },",
		// The route does not accept bulk.
		`rule: { route = "chat", rate = "1/s" },`,
		"end: " + route + "path = \"/v1/chat\"",                             // exact beside prefix
		"end: " + route + "path = \"/v1/chat/*\"\nhost = \"a.example\"",     // a named host goes first
		"end: " + route + "path = \"/v1/chat/*\"\nmethods = [\"GET\"]",      // a named method goes first
		"end: " + route + "path = \"/*\"\nsemantics = []\nhost = \"[::1]\"", // all of it is default
		"end: " + route + "path = \"/%E6%8A%A5/%20\"\nmethods = [\"PURGE\"]",
		"end: " + route + "path = \"/*\"", // what is the gateway's own goes first
		"end: " + route + "path = \"/.tidegates/*\"",
		`server: callers_page = false`,
		`chat: max_rate = "200/s"`,
		`chat: max_rate = "12000/min"`, // the same, over another span
		"chat: cost = 10\nburst = 10\nmax_rate = \"9/10ms\"",
		`rule: { semantic = "bulk", max_rate = "" },`,
		`rule: { semantic = "bulk", rate = "50/s", max_rate = "100/s" },`,
		`rule: { semantic = "default", rate = "1/h", max_rate = "1/59min" },`,
		`plan: registration = "auto"`,
		"end: [alerts]\nwebhook = \"http://127.0.0.1:9000\"\nevents = [\"state_failed\"]\nimportant_pools = [\"shared\"]",
		"end: keys = [\"SHA\"]\n[[callers]]\nid = \"x\"",
	} {
		t.Run(edit, func(t *testing.T) {
			edit = strings.Replace(edit, "SHA", strings.Repeat("AbCdEf01", 8), 1)
			load(t, put(t, edit))
		})
	}
}

func TestAllProblemsAreFoundAtOnceInTheOrderOfTheFile(t *testing.T) {
	_, err := LoadBytes("config.toml", []byte(put(t, `server: listn = "x"`, `detector: ratio = nan`, `chat: cost = 500`, `caller: plan = "gold"`)),
		[]string{"TIDEGATE__LOG__LEVEL=loud", "TIDEGATE__SERVR__LISTEN=secret"})
	want := `TIDEGATE__SERVR__LISTEN: servr.listen: no such key; did you mean TIDEGATE__SERVER__LISTEN?
TIDEGATE__LOG__LEVEL: log.level = "loud": not one of the words allowed here; choose from "debug", "info", "warn", "error"
config.toml:2:1: server.listn: no such key in server; did you mean "listen"?
config.toml:8:1: detector.ratio = NaN: not a number one can calculate with
config.toml:26:1: semantics.chat.cost = 500: more than the rate 200/s holds, so that it could never be paid
config.toml:59:1: callers.acme.plan = "gold": no such plan; choose from "free", "paid"`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
