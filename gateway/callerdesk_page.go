package gateway

import (
	"strings"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/callerpage"
)

// deskPages holds the page as it is under one configuration, in each language.
type deskPages struct{ now atomic.Pointer[renderedPages] }

type renderedPages struct {
	of    *places
	pages [languages]callerpage.File
}

// notTold are codes that no refusal has yet.
var notTold = map[Code]bool{CodeNone: true, CodeQuotaExhausted: true}

// deskPage answers the page, what it loads, and the path that lacks its last slash.
func (x *exchange) deskPage(path string) bool {
	name, under := strings.CutPrefix(path, "/")
	file, known := callerpage.Files[name]
	page := path == "/"
	if !known && !page && under {
		return x.refuse(CodeRouteUnknown)
	}
	h := &x.ctx.Response.Header
	if !x.ctx.IsGet() && !x.ctx.IsHead() {
		h.Set("Allow", allowed(false))
		return x.deskRefuse(faultMethod, 0)
	}
	secureDesk(h)
	if !under {
		h.Set(fasthttp.HeaderLocation, deskRoot[1:]+"/") // relative: a proxy may have the gateway under a path of its own
		x.answerDesk(fasthttp.StatusPermanentRedirect, nil)
		return false
	}
	if page {
		lang := pageLanguage(x.ctx)
		file = x.g.desk.pages.page(x.live, lang)
		h.Set(fasthttp.HeaderContentLanguage, lang.tag())
		h.Add(fasthttp.HeaderVary, fasthttp.HeaderAcceptLanguage)
	}
	h.Set(fasthttp.HeaderCacheControl, "no-cache") // asked for again, by its tag, each time
	h.Set(fasthttp.HeaderETag, file.ETag)
	if string(x.ctx.Request.Header.Peek(fasthttp.HeaderIfNoneMatch)) == file.ETag {
		x.answerDesk(fasthttp.StatusNotModified, nil)
		return false
	}
	h.SetContentType(file.Type)
	x.answerDesk(fasthttp.StatusOK, file.Content)
	return false
}

// pageLanguage is the one that the address asks for, or else the browser.
func pageLanguage(ctx *fasthttp.RequestCtx) language {
	switch string(queryValue(ctx.Request.Header.RequestURI(), "lang")) {
	case "en":
		return english
	case "zh":
		return chinese
	}
	return preferredLanguage(ctx.Request.Header.Peek(fasthttp.HeaderAcceptLanguage))
}

// secureDesk keeps the page to its own files and its own gateway: where somebody types a key, nothing foreign runs or
// hears of it.
func secureDesk(h *fasthttp.ResponseHeader) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

func (d *deskPages) page(l *live, lang language) callerpage.File {
	r := d.now.Load()
	if r == nil || r.of != l.places {
		r = &renderedPages{of: l.places}
		for i := range r.pages {
			content := callerpage.Page(language(i).tag(), l.places.facts(language(i)))
			r.pages[i] = callerpage.File{Type: "text/html; charset=utf-8", Content: content, ETag: callerpage.ETag(content)}
		}
		d.now.Store(r)
	}
	return r.pages[lang]
}

// facts are what the page says of this gateway.
func (p *places) facts(lang language) callerpage.Facts {
	f := callerpage.Facts{Semantic: headerOf(p.semantic), Tenant: headerOf(p.tenant), Key: headerOf(p.key)}
	for i := range p.key {
		if f.Key == "" && p.key[i].Kind == "bearer" {
			f.Key, f.Bearer = fasthttp.HeaderAuthorization, true
		}
	}
	for code := CodeNone; code < codeEnd; code++ {
		if notTold[code] {
			continue
		}
		entry := &codeTable[code]
		retry := map[retrying]string{retryNever: "never", retryLater: "later", retryIfSafe: "safe"}[entry.retry]
		f.Refusals = append(f.Refusals, callerpage.Refusal{Code: entry.name, Status: entry.status, Retry: retry, Detail: entry.words[lang].detail})
	}
	return f
}

func headerOf(list []place) string {
	for i := range list {
		if list[i].Kind == "header" {
			return list[i].Name
		}
	}
	return ""
}
