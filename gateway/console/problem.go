package console

import (
	"encoding/json"
	"fmt"

	"github.com/valyala/fasthttp"
)

// problem is a refusal of this listener, application/problem+json as on the data plane.
type problem struct {
	Type     string        `json:"type"`
	Title    string        `json:"title"`
	Status   int           `json:"status"`
	Detail   string        `json:"detail"`
	Code     string        `json:"code"`
	Problems []ProblemView `json:"problems,omitempty"` // of a config that was sent
	etag     string        // of what is in force, for the header
}

func newProblem(status int, code, title, detail string) *problem {
	return &problem{Type: "urn:tidegate:problem:" + code, Title: title, Status: status, Detail: detail, Code: code}
}

func (p *problem) Error() string { return p.Code + ": " + p.Detail }

var (
	problemMalformed = newProblem(400, "bad_request", "Bad request",
		"This is not an HTTP request that can be read, or its header is over 16 KiB.")
	problemBodyBroken = newProblem(400, "bad_request", "Bad request", "The body could not be read to its end.")
	problemIfMatch    = newProblem(400, "bad_request", "Bad request",
		`If-Match must be * or a list of entity tags in double quotes, as ETag gives them: "9f86d081".`)
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
	problemNotReady = newProblem(503, "not_ready", "This is not ready yet",
		"This part of the gateway does not run. Try again in a second.")
	problemNotFound = newProblem(404, "not_found", "Nothing is here", "There is "+directory()+".")
	problemBodySlow = newProblem(408, "body_slow", "The body took too long",
		fmt.Sprintf("The body must be here within %v.", bodyTimeout))
	problemType = newProblem(415, "unsupported_media_type", "The content type is not taken",
		"A write must have Content-Type: application/json or application/toml, which no form of a web page can send. "+
			"Only one without a body, and not from a browser, needs none.")
	problemJSONOnly = newProblem(415, "unsupported_media_type", "The content type is not taken",
		"Here the body must be JSON, with Content-Type: application/json.")
	problemCoding = newProblem(415, "unsupported_media_type", "The content coding is not taken",
		"Send the body as it is, without Content-Encoding.")
	problemUnconditional = newProblem(428, "precondition_required", "The write must be conditional",
		"Send If-Match with the ETag that came with the config that this one was made from. "+
			"It keeps two who edit at once from undoing each other's change.")
	problemLockedOut = newProblem(429, "too_many_attempts", "Too many wrong tokens",
		"Too many wrong tokens came from this address. Try again after the time in Retry-After.")
	problemInternal = newProblem(500, "internal", "Internal error",
		"The answer could not be made; the log says why.")
	problemNoSnapshot = newProblem(503, "no_snapshot", "Nothing to show yet",
		"The gateway is starting. Try again in a second.")
)

func badRequest(format string, args ...any) *problem {
	return newProblem(400, "bad_request", "Bad request", fmt.Sprintf(format, args...))
}

func problemMethod(method, allow string) *problem {
	return newProblem(405, "method_not_allowed", "The method is not allowed here",
		fmt.Sprintf("%s is not answered here; there is %s.", method, allow))
}

func tooLarge(limit int) *problem {
	return newProblem(413, "body_too_large", "The body is too large",
		fmt.Sprintf("At most %d bytes are taken here.", limit))
}

const codeRole = "role_insufficient"

func problemRole(e endpoint, who visitor) *problem {
	needed := e.role.String()
	if e.role < roleOwner {
		needed += " or " + roleOwner.String()
	}
	return newProblem(403, codeRole, "The token's role does not allow this",
		fmt.Sprintf("%s %s needs the role %s; the token %q has the role %s.", e.method, e.path, needed, who.name, who.role))
}

func (p *problem) write(ctx *fasthttp.RequestCtx) {
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	if p.etag != "" {
		ctx.Response.Header.Set("ETag", p.etag)
	}
	ctx.SetStatusCode(p.Status)
	ctx.SetContentType("application/problem+json")
	ctx.SetBody(append(body, '\n'))
}

// statuses are those of all codes that this listener answers with.
var statuses = func() map[string]int {
	all := map[string]int{
		"bad_request": 400, "cursor_unknown": 400,
		"token_missing": 401, "token_unknown": 401,
		codeRole: 403, "host_forbidden": 403, "cross_site": 403, "token_required": 403,
		"not_found": 404, "caller_unknown": 404, "history_unknown": 404,
		"method_not_allowed": 405, "body_slow": 408, "body_too_large": 413, "unsupported_media_type": 415,
		"not_explained": 422, "precondition_required": 428, "too_many_attempts": 429,
		"internal": 500, "no_snapshot": 503, "not_ready": 503, "too_many_streams": 503,
	}
	for code, as := range failureAs {
		all[code] = as.status
	}
	return all
}()
