// Package browser drives a Chromium: it opens a page as a user would, looks at what it shows, clicks and types, measures
// how long something takes to appear, and keeps what the browser complained about. It knows nothing of what is shown.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/chromedp/chromedp"
)

// Program finds a Chromium on this machine.
func Program() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("cannot find a Chromium: install Debian's package chromium, as `make e2e` does")
}

// Browser is a running Chromium with a profile of its own, which goes with it. Safe for concurrent use.
type Browser struct {
	ctx     context.Context
	close   []func()
	profile string
}

// Open starts a Chromium without a window. It ends with Close, or with ctx.
func Open(ctx context.Context) (*Browser, error) {
	program, err := Program()
	if err != nil {
		return nil, err
	}
	profile, err := os.MkdirTemp("", "browser-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a profile: %w", err)
	}
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(profile),
		chromedp.NoSandbox, // it runs as root in containers, and opens our own pages only
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("hide-scrollbars", false), chromedp.Flag("lang", "en-US"),
		chromedp.Flag("disable-backgrounding-occluded-windows", true),
	)
	b := &Browser{profile: profile}
	allocator, closeAllocator := chromedp.NewExecAllocator(ctx, flags...)
	browser, closeBrowser := chromedp.NewContext(allocator)
	b.ctx, b.close = browser, []func(){closeBrowser, closeAllocator}
	if err := chromedp.Do(browser); err != nil {
		b.Close()
		return nil, fmt.Errorf("cannot start %s: %w", program, err)
	}
	return b, nil
}

// Close ends the browser and all its tabs.
func (b *Browser) Close() {
	for _, end := range b.close {
		end()
	}
	// Chromium's children may still be writing; what is left is the system's to clean up.
	_ = os.RemoveAll(b.profile)
}
