package console

// description is what the OpenAPI document says of an endpoint beside what the table of endpoints does.
type description struct {
	name    string // of the operation, and of what a generated client calls
	says    string
	params  []param
	headers []param
	body    []param  // members of the JSON body; nil: no body is taken
	toml    bool     // the body may be a config file as it is
	answer  any      // a value of the type that is answered as JSON; nil: another media type
	media   string   // of an answer that is no JSON
	etag    bool     // the answer has an entity tag
	codes   []string // of its own problems, beside those of every endpoint
}

// param is a parameter of the query, a header, or a member of a body.
type param struct {
	name, says string
	schema     schema
	required   bool
}

// schema is a JSON Schema of the 2020-12 dialect.
type schema map[string]any

var (
	aString  = schema{"type": "string"}
	aMoment  = schema{"type": "string", "format": "date-time"}
	aReason  = param{"reason", "Why, in one line. It is kept with the change.", schema{"type": "string", "maxLength": maxReason}, false}
	ifMatch  = param{"If-Match", "Entity tags of the config that the change was made from.", aString, false}
	ifNoneOf = param{"If-None-Match", "Entity tags; 304 is answered where one of them is the current one.", aString, false}
	byCaller = param{"caller", "A caller's id.", aString, false}
	aConfig  = param{"config", "The config file's text.", schema{"type": "string", "minLength": 1}, true}
)

func anInteger(low, high int) schema {
	return schema{"type": "integer", "minimum": low, "maximum": high}
}

func limitOf(otherwise, most int) param {
	s := anInteger(1, most)
	s["default"] = otherwise
	return param{"limit", "Entries at most.", s, false}
}

// oneOf is a choice, in a query also an empty one, which is none.
func oneOf(name, says string, of []string) param {
	return param{name, says, schema{"type": "string", "enum": append([]string{""}, of...)}, false}
}

func word(name, says string) param { return param{name, says, aString, false} }

func needed(name, says string) param {
	return param{name, says, schema{"type": "string", "minLength": 1}, true}
}

// descriptions are by method and path, as in the table of endpoints.
var descriptions = map[string]description{
	"GET /": {
		name: "page", says: "The live page. A browser without a session gets the page that asks for a token, with 401.",
		media: "text/html", headers: []param{ifNoneOf}, etag: true,
	},
	"GET /live/": {
		name: "pageFile", says: "A file of the live page. It may be in a directory.", media: "*/*", headers: []param{ifNoneOf},
		etag: true, codes: []string{"not_found"},
	},
	"GET /healthz": {name: "health", says: "ok while the process answers.", media: "text/plain"},
	"GET /readyz":  {name: "ready", says: "ready, or with 503 why new requests should not be sent here.", media: "text/plain"},
	"GET /metrics": {name: "metrics", says: "Metrics in the text format of Prometheus.", media: "text/plain"},
	"GET /debug/pprof/": {
		name: "profile", says: "Profiles of the running program. They show what is in memory.", media: "*/*",
		codes: []string{"bad_request"},
	},

	"GET /api/v1/session": {name: "session", says: "Who asks, and what he may do.", answer: SessionView{}},
	"POST /api/v1/session": {
		name: "login", says: "Makes a session of a token, kept in a cookie that a page's scripts cannot read. It lasts 12 hours, and no longer than its token is configured.",
		body: []param{needed("token", "A token whose sha256 is listed in admin.tokens.")}, answer: SessionView{}, codes: []string{"token_unknown"},
	},
	"DELETE /api/v1/session": {name: "logout", says: "Ends the session of the cookie.", body: []param{}, answer: SessionView{}},

	"GET /api/v1/snapshot": {
		name: "snapshot", says: "The state of the whole gateway at one moment, at most 100 ms ago.", answer: Snapshot{},
		codes: []string{"no_snapshot"},
	},
	"GET /api/v1/stream": {
		name: "stream", says: "Server-sent events, one a second: event snapshot, its data the same as that of /api/v1/snapshot. Who reads more slowly gets the newest only.",
		media: "text/event-stream", codes: []string{"too_many_streams"},
	},
	"GET /api/v1/callers": {
		name: "callers", says: "A page of callers, those without traffic included.", answer: CallersPage{}, codes: []string{"not_ready"},
		params: []param{
			word("query", "A part of the caller's id or name, or of a semantic's name; case does not matter."),
			word("pool", "Only callers of this pool."), word("plan", "Only callers of this plan."), word("level", "Only callers with a flow of this level."),
			oneOf("standing", "Only callers that stand so.", Standings), oneOf("sort", "The order; empty is attention.", CallerSorts),
			{"offset", "Callers to pass over.", schema{"type": "integer", "minimum": 0, "default": 0}, false},
			limitOf(defaultPage, MaxPage),
		},
	},
	"GET /api/v1/caller": {
		name: "caller", says: "All that is known of one caller.", params: []param{needed("id", "The caller's id.")},
		answer: CallerDetail{}, codes: []string{"caller_unknown", "not_ready"},
	},
	"GET /api/v1/history": {
		name: "history", says: "How something was: up to 15 minutes by the second, above that up to 7 days by the minute.", answer: HistoryView{}, codes: []string{"history_unknown", "not_ready"},
		params: []param{
			{"kind", "What.", schema{"type": "string", "enum": HistoryKinds}, true},
			word("name", "A pool's name, pool/level, a caller, or caller/semantic; none for kind=total."),
			{"span", "How far back, from 1s to 168h.", schema{"type": "string", "default": "15m"}, false},
			{"until", "The end; without it, now.", aMoment, false},
		},
	},
	"GET /api/v1/explain": {
		name: "explain", says: "The rule that a request would meet, where it stands and what it overrode. Give route, or path with method and host where they matter.", codes: []string{"not_explained", "not_ready"},
		params: []param{
			word("caller", "A caller's id; none is the anonymous caller."), word("route", "A route's name."), word("method", "GET where it is not given."), word("host", "The request's host."),
			word("path", "The request's path."), word("semantic", "The request's tag."), word("tenant", "The caller's own customer."),
		},
	},
	"GET /api/v1/flows": {
		name: "flows", says: "A page of flows as they are now.", answer: FlowsPage{}, codes: []string{"cursor_unknown", "not_ready"},
		params: []param{
			word("query", "A part of caller, semantic, route, tenant, pool or level; case does not matter."),
			oneOf("state", "Only flows of this state; surge takes in cooling.", flowStates), oneOf("standing", "Only flows that stand so.", Standings),
			oneOf("sort", "The order; empty is busiest.", FlowSorts), word("cursor", "The next of the page before."), limitOf(defaultPage, MaxPage),
		},
	},
	"GET /api/v1/refusals": {
		name: "refusals", says: "The last refusals that are kept, newest first, with the numbers that decided.", answer: []RefusalView{}, codes: []string{"not_ready"},
		params: []param{byCaller, word("request_id", "As the refused request was told."), word("code", "The code of the refusal."), limitOf(defaultPage, MaxPage)},
	},
	"GET /api/v1/queue": {
		name: "queue", says: "Who waits now.", params: []param{limitOf(defaultQueue, maxQueue)}, answer: QueueView{},
		codes: []string{"no_snapshot", "not_ready"},
	},

	"GET /api/v1/config": {
		name: "config", says: "The config file in force, or that of a kept version. For viewers the hashes are cut short, and the entity tag is a weak one.", media: typeTOML, etag: true,
		params: []param{{"version", "A kept version; without it, the one in force.", schema{"type": "integer", "minimum": 1}, false}}, headers: []param{ifNoneOf}, codes: []string{CodeVersionUnknown},
	},
	"PUT /api/v1/config": {
		name: "putConfig", says: "Writes the config file and brings it into force, or changes nothing. If-Match is needed.", body: []param{aConfig, aReason}, toml: true, answer: Changed{}, etag: true,
		headers: []param{{"If-Match", ifMatch.says, aString, true}}, codes: []string{CodePrecondition, "precondition_required", CodeConfigInvalid, CodeNotWritten, CodeStateNotWritten},
	},
	"GET /api/v1/config/versions": {name: "versions", says: "The versions that are kept, newest first.", answer: []versionView{}},
	"POST /api/v1/config/check": {
		name: "checkConfig", says: "What a text would be as the config file: its faults, and what would change. Changes nothing.",
		body: []param{aConfig, aReason}, toml: true, answer: CheckView{}, codes: []string{"not_ready"},
	},
	"POST /api/v1/config/preview": {
		name: "previewConfig", says: "Plays the traffic of the last minutes under the config in force and under the text. Changes nothing.",
		body: []param{aConfig, aReason}, toml: true, answer: PreviewView{},
		codes: []string{CodeConfigInvalid, CodeNothingToPlay, CodePreviewBusy, "not_ready"},
	},
	"POST /api/v1/config/rollback": {
		name: "rollback", says: "Brings the text of a kept version back, as one more version.",
		body:    []param{{"version", "The version.", schema{"type": "integer", "minimum": 1}, true}, aReason},
		headers: []param{ifMatch}, answer: Changed{}, etag: true,
		codes: []string{CodeVersionUnknown, CodePrecondition, CodeConfigInvalid, CodeNotWritten, CodeStateNotWritten},
	},
	"POST /api/v1/reload": {
		name: "reload", says: "Reads the config file now.", body: []param{aReason}, answer: Changed{}, etag: true,
		codes: []string{CodeConfigInvalid, CodeStateNotWritten},
	},

	"GET /api/v1/overrides": {name: "overrides", says: "The overrides that are kept, in the order in which they were made.", answer: []OverrideView{}},
	"POST /api/v1/overrides": {
		name: "setOverride", says: "Sets an override, or replaces the one of its name. Give until, or for, or neither.", answer: Changed{}, etag: true,
		body: []param{
			needed("name", "callers.ID.pool, rules.RULE.rate, flows.CALLER/SEMANTIC.rate, and others."),
			{"value", "What would stand in the file.", schema{"type": []string{"string", "number", "boolean"}}, true},
			{"until", "When it ends by itself.", aMoment, false},
			word("for", "After how long it ends by itself: 30m."), aReason,
		},
		codes: []string{codeRole, CodeRateBound, CodeOverrideInvalid, CodeConfigInvalid, CodeStateNotWritten},
	},
	"DELETE /api/v1/overrides": {
		name: "dropOverride", says: "Takes an override back. Its name is in the query, since names hold slashes.", params: []param{needed("name", "The override's name.")}, answer: Changed{}, etag: true,
		codes: []string{codeRole, CodeOverrideUnknown, CodeConfigInvalid, CodeStateNotWritten},
	},

	"GET /api/v1/registrations": {
		name: "registrations", says: "What callers have registered, those that wait for an owner first.",
		answer: []RegistrationView{}, codes: []string{"not_ready"},
	},
	"POST /api/v1/registrations": {
		name: "decideRegistration", says: "Lets a registration be active, refuses it, or forgets it.", answer: RegistrationView{},
		body:  []param{needed("caller", "The caller's id."), needed("semantic", "The semantic's name."), {"decision", "What.", schema{"type": "string", "enum": []string{"approve", "refuse", "forget"}}, true}, aReason},
		codes: []string{CodeRegistrationUnknown, CodeSemanticUnknown, CodeStateNotWritten, "not_ready"},
	},
	"GET /api/v1/audit": {
		name: "audit", says: "Who did what, newest first.", answer: []AuditEntry{}, codes: []string{"not_ready"},
		params: []param{
			word("actor", "Only of this actor."), word("action", "Only this action."), word("query", "A part of subject or reason."),
			{"before", "Only entries with a lower id, for the next page.", schema{"type": "integer", "minimum": 1}, false},
			limitOf(defaultPage, MaxPage),
		},
	},
	"GET /api/v1/alerts": {name: "alerts", says: "What was told of late.", answer: AlertsView{}, codes: []string{"not_ready"}},
	"POST /api/v1/alerts/test": {
		name: "testAlert", says: "Sends a test to the webhook.", body: []param{aReason}, answer: AlertView{},
		codes: []string{CodeNoWebhook, CodeAlertBusy, "not_ready"},
	},
	"GET /api/v1/openapi.json": {name: "document", says: "This document.", answer: map[string]any{}},
}
