package console

import (
	"encoding/json"

	"github.com/valyala/fasthttp"
)

// problem is a refusal of this listener, application/problem+json as on the data plane.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
}

func newProblem(status int, code, title, detail string) *problem {
	return &problem{Type: "urn:tidegate:problem:" + code, Title: title, Status: status, Detail: detail, Code: code}
}

var (
	problemMalformed = newProblem(400, "bad_request", "Bad request",
		"This is not an HTTP request that can be read, or its header is over 16 KiB or its body over 1 MiB.")
	problemSeconds = newProblem(400, "bad_request", "Bad request",
		"seconds must be a whole number from 0 to 120: a profile is not stopped when its reader leaves.")
	problemNoToken = newProblem(401, "token_missing", "A token is needed",
		"Send Authorization: Bearer TOKEN, with a token whose sha256 is listed in admin.tokens.")
	problemBadToken = newProblem(401, "token_unknown", "The token is not known",
		"The sha256 of the token sent is not listed in admin.tokens.")
	problemOpenListener = newProblem(403, "token_required", "No token is configured",
		"This listener can be reached from other machines, so it lets nobody in without a token. "+
			"Add one to admin.tokens, or listen on a loopback address.")
	problemHost = newProblem(403, "host_forbidden", "Another host was asked for",
		"The Host header must be localhost, a loopback address, the host in admin.listen, or the address that was connected to.")
	problemCrossSite = newProblem(403, "cross_site", "The request comes from another site",
		"Other web pages may neither read nor drive this listener. Open its address directly.")
	problemRole = newProblem(403, "role_insufficient", "The token's role does not allow this",
		"Profiles show what is in memory: they need the role operator or owner.")
	problemNotFound = newProblem(404, "not_found", "Nothing is here",
		"There is /, /healthz, /readyz, /metrics, /api/v1/snapshot and /debug/pprof/.")
	problemMethod = newProblem(405, "method_not_allowed", "Nothing can be written here",
		"Only GET and HEAD are answered here.")
	problemType = newProblem(415, "unsupported_media_type", "The content type is not taken",
		"A write must have Content-Type: application/json or application/toml, which no form of a web page can send.")
	problemLockedOut = newProblem(429, "too_many_attempts", "Too many wrong tokens",
		"Too many wrong tokens came from this address. Try again after the time in Retry-After.")
	problemInternal = newProblem(500, "internal", "Internal error",
		"The answer could not be made; the log says why.")
	problemNoSnapshot = newProblem(503, "no_snapshot", "Nothing to show yet",
		"The gateway is starting. Try again in a second.")
)

func (p *problem) write(ctx *fasthttp.RequestCtx) {
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and a number always encode
	}
	ctx.SetStatusCode(p.Status)
	ctx.SetContentType("application/problem+json")
	ctx.SetBody(body)
}
