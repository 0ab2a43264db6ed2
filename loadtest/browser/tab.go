package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Tab is one page that is open. One goroutine uses it.
type Tab struct {
	ctx   context.Context
	close func()

	mu         sync.Mutex
	complaints []string
	hosts      map[string]bool
}

// Tab opens an empty one of 1280 by 900 points. Its cookies are its own.
func (b *Browser) Tab() (*Tab, error) {
	t := &Tab{hosts: map[string]bool{}}
	t.ctx, t.close = chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(t.hear))
	err := chromedp.Do(t.ctx)
	for _, enable := range []func() error{
		func() error { return call(t, network.Enable, network.EnableParams{}) },
		func() error { return call(t, runtime.Enable, cdp.Empty{}) },
		func() error { return call(t, log.Enable, cdp.Empty{}) },
		func() error { return t.Size(1280, 900, false) },
	} {
		if err == nil {
			err = enable()
		}
	}
	if err != nil {
		t.close()
		return nil, fmt.Errorf("cannot open a tab: %w", err)
	}
	return t, nil
}

// Close ends it.
func (t *Tab) Close() { t.close() }

// hear keeps what the browser complains about, and whom the page talks to.
func (t *Tab) hear(event any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		t.complaints = append(t.complaints, "exception: "+thrown(e.ExceptionDetails))
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			t.complaints = append(t.complaints, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err == nil && u.Host != "" {
			t.hosts[u.Host] = true
		}
	}
}

// Complaints are the exceptions and errors since the last call.
func (t *Tab) Complaints() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.complaints
	t.complaints = nil
	return list
}

// Hosts are those that the page has asked anything of.
func (t *Tab) Hosts() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []string
	for host := range t.hosts {
		list = append(list, host)
	}
	return list
}

// bound is how long a single step may take.
const bound = 30 * time.Second

// ask makes one call of the browser's protocol.
func ask[P, R any](t *Tab, command cdp.Command[P, R], params P) (R, error) {
	ctx, cancel := context.WithTimeout(t.ctx, bound)
	defer cancel()
	return chromedp.Call(ctx, command, params)
}

func call[P, R any](t *Tab, command cdp.Command[P, R], params P) error {
	_, err := ask(t, command, params)
	return err
}

// Go opens an address and waits for its document, whatever its status.
func (t *Tab) Go(address string) error {
	if err := call(t, page.Navigate, page.NavigateParams{URL: address}); err != nil {
		return fmt.Errorf("cannot open %s: %w", address, err)
	}
	_, err := t.Wait(`document.readyState === "complete"`, bound)
	return err
}

// Eval evaluates an expression, a promise's value included; out may be nil.
func (t *Tab) Eval(expression string, out any) error {
	yes := true
	got, err := ask(t, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ReturnByValue: &yes, AwaitPromise: &yes, UserGesture: &yes})
	switch {
	case err != nil:
		return fmt.Errorf("cannot evaluate %.200s: %w", expression, err)
	case got.ExceptionDetails != nil:
		return fmt.Errorf("cannot evaluate %.200s: %s", expression, thrown(got.ExceptionDetails))
	case out == nil || len(got.Result.Value) == 0:
		return nil
	}
	return json.Unmarshal(got.Result.Value, out)
}

func thrown(e *runtime.ExceptionDetails) string {
	if e.Exception != nil && e.Exception.Description != "" {
		return e.Exception.Description
	}
	return e.Text
}

// Wait waits until an expression is true, and says how long that took. It asks every 20 ms.
func (t *Tab) Wait(expression string, within time.Duration) (took time.Duration, err error) {
	began := time.Now()
	for {
		var held bool
		// While a document gives way to the next there is nothing to ask; that is no failure yet.
		err = t.Eval("Boolean("+expression+")", &held)
		took = time.Since(began)
		if held {
			return took, nil
		}
		if took > within {
			if err != nil {
				return took, err
			}
			return took, fmt.Errorf("%s was not true within %v", expression, within)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// By is the expression of the element with a data-testid; it may be null.
func By(id string) string { return fmt.Sprintf("document.querySelector('[data-testid=%q]')", id) }

// Shown waits for an element to be there and to have a size.
func (t *Tab) Shown(id string, within time.Duration) error {
	_, err := t.Wait("((e) => e && e.getClientRects().length > 0)("+By(id)+")", within)
	return err
}

// Text is what an element shows, white space squeezed; "" if it is not there.
func (t *Tab) Text(id string) (text string, err error) {
	err = t.Eval(`((e) => e ? (e.innerText || e.value || "").replace(/\s+/g, " ").trim() : "")(`+By(id)+")", &text)
	return text, err
}

// Click clicks an element as a mouse does: in its middle, scrolled into view first.
func (t *Tab) Click(id string) error {
	if err := t.Shown(id, bound); err != nil {
		return fmt.Errorf("cannot click %s: %w", id, err)
	}
	var at struct{ X, Y float64 }
	err := t.Eval(`((e) => { e.scrollIntoView({block: "center", inline: "nearest", behavior: "instant"}); const r = e.getBoundingClientRect(); return {X: r.x + r.width / 2, Y: r.y + r.height / 2} })(`+By(id)+")", &at)
	if err != nil {
		return err
	}
	for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMouseMoved, input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		press := input.DispatchMouseEventParams{Type: kind, X: at.X, Y: at.Y}
		if kind != input.DispatchMouseEventTypeMouseMoved {
			press.Button, press.ClickCount = input.MouseButtonLeft, 1
		}
		if err := call(t, input.DispatchMouseEvent, press); err != nil {
			return fmt.Errorf("cannot click %s: %w", id, err)
		}
	}
	return nil
}

// Fill replaces what a field holds by text, as if it was typed.
func (t *Tab) Fill(id, text string) error {
	if err := t.Shown(id, bound); err != nil {
		return fmt.Errorf("cannot fill %s: %w", id, err)
	}
	if err := t.Eval("((e) => { e.focus(); e.select() })("+By(id)+")", nil); err != nil {
		return err
	}
	return call(t, input.InsertText, input.InsertTextParams{Text: text})
}

// Choose selects an option of a list by its value.
func (t *Tab) Choose(id, value string) error {
	return t.Eval(fmt.Sprintf(`((e) => { e.value = %q; e.dispatchEvent(new Event("input", {bubbles: true})); e.dispatchEvent(new Event("change", {bubbles: true})) })(%s)`, value, By(id)), nil)
}

// Size is the window's, in points; mobile makes it a phone's.
func (t *Tab) Size(width, height int64, mobile bool) error {
	return call(t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: mobile})
}

// Dark sets what the system prefers.
func (t *Tab) Dark(dark bool) error {
	value := "light"
	if dark {
		value = "dark"
	}
	return call(t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}})
}

// Picture writes what the window shows as a PNG.
func (t *Tab) Picture(path string) error {
	shot, err := ask(t, page.CaptureScreenshot, page.CaptureScreenshotParams{})
	if err != nil {
		return fmt.Errorf("cannot take a picture: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, shot.Data, 0o644)
}

// Frames is how many frames a second the page drew over a while, with the longest gap between two of them.
func (t *Tab) Frames(over time.Duration) (perSecond float64, longest time.Duration, err error) {
	var got struct{ N, Took, Gap float64 }
	err = t.Eval(fmt.Sprintf(`new Promise((done) => {
		let n = 0, gap = 0, first = 0, last = 0
		requestAnimationFrame(function next(now) {
			if (!first) { first = now } else { n++; gap = Math.max(gap, now - last) }
			last = now
			if (now - first < %d) { requestAnimationFrame(next) } else { done({N: n, Took: now - first, Gap: gap}) }
		})
	})`, over.Milliseconds()), &got)
	if err != nil {
		return 0, 0, err
	}
	return got.N / got.Took * 1000, time.Duration(got.Gap * float64(time.Millisecond)), nil
}
