package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"

	"github.com/valyala/fasthttp"
)

const (
	// policyNone is for what is no page: nothing may be loaded, and nothing runs.
	policyNone = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	// policyPage is for the page: everything comes from here, nothing is inline.
	policyPage = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// loginPage is the page that asks for a token. Whoever sees it may load nothing yet, so it has its script
// and style in it, and its policy lets these very ones run by their hashes.
type loginPage struct {
	text   []byte
	policy string
}

var inline = regexp.MustCompile(`(?is)<(script|style)(?:\s[^>]*)?>(.*?)</(?:script|style)\s*>`)

func newLoginPage(text []byte) loginPage {
	hashes := map[string][]string{}
	for _, m := range inline.FindAllSubmatch(text, -1) {
		sum := sha256.Sum256(m[2])
		kind := strings.ToLower(string(m[1]))
		hashes[kind] = append(hashes[kind], "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	sources := func(kind string) string {
		if len(hashes[kind]) == 0 {
			return "'none'"
		}
		return strings.Join(hashes[kind], " ")
	}
	return loginPage{text: text, policy: "default-src 'none'; script-src " + sources("script") + "; style-src " + sources("style") +
		"; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}
}

// wantsPage says whether a browser asks for the page itself.
func wantsPage(ctx *fasthttp.RequestCtx) bool {
	return readOnly(ctx) && string(ctx.Path()) == "/" && bytes.Contains(ctx.Request.Header.Peek("Accept"), []byte("text/html"))
}

func (p loginPage) write(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set("Content-Security-Policy", p.policy)
	ctx.SetStatusCode(fasthttp.StatusUnauthorized)
	ctx.SetContentType("text/html; charset=utf-8")
	ctx.Response.SetBodyRaw(p.text)
}
