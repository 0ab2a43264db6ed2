package console

import "github.com/valyala/fasthttp"

// check says what a text would be as the config file.
func (c *Console) check(ctx *fasthttp.RequestCtx, who visitor) error {
	if c.options.Check == nil {
		return problemNotReady
	}
	w, text, err := c.readConfig(ctx)
	defer w.release()
	if err != nil {
		return err
	}
	// One at a time: to look is for everybody, and a large config is a second of work.
	c.checking.Lock()
	defer c.checking.Unlock()
	return answer(ctx, c.shown(c.options.Check(text), who))
}

// shown is a check without null in it. What differs is told by the file in force, so a viewer gets it
// without its hashes.
func (c *Console) shown(v CheckView, who visitor) CheckView {
	v.Problems = head(v.Problems, len(v.Problems))
	v.RestartNeeded = head(v.RestartNeeded, len(v.RestartNeeded))
	v.Asides = head(v.Asides, len(v.Asides))
	if who.role == roleViewer {
		v.Diff = string(c.options.Redact([]byte(v.Diff)))
	}
	return v
}

// preview plays the traffic of the last minutes under a text as the config file.
func (c *Console) preview(ctx *fasthttp.RequestCtx, who visitor) error {
	if c.options.Preview == nil {
		return problemNotReady
	}
	w, text, err := c.readConfig(ctx)
	defer w.release()
	if err != nil {
		return err
	}
	made, err := c.options.Preview(text)
	if err != nil {
		return err
	}
	v := *made
	v.CheckView = c.shown(v.CheckView, who)
	v.Rows = head(v.Rows, maxRows)
	v.Pools = head(v.Pools, len(v.Pools))
	v.Notes = head(v.Notes, len(v.Notes))
	return answer(ctx, v)
}

// maxRows is how many rows of a preview are shown.
const maxRows = 100
