package console

import (
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

// params are a request's query parameters. One that nobody knows is refused: left aside, it would be
// taken for a filter that did not filter.
type params map[string]string

func readParams(ctx *fasthttp.RequestCtx, allowed ...string) (params, error) {
	p := params{}
	for k, v := range ctx.QueryArgs().All() {
		name := string(k)
		if !slices.Contains(allowed, name) {
			if len(allowed) == 0 {
				return nil, badRequest("There is no parameter %q; none is taken here.", name)
			}
			return nil, badRequest("There is no parameter %q; there is %s.", name, strings.Join(allowed, ", "))
		}
		if _, twice := p[name]; twice {
			return nil, badRequest("The parameter %s is given twice.", name)
		}
		p[name] = string(v)
	}
	return p, nil
}

// number is a parameter from low to high, or otherwise where it is not given.
func (p params) number(name string, otherwise, low, high int) (int, error) {
	text, given := p[name]
	if !given {
		return otherwise, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || int(n) < low || int(n) > high {
		return 0, badRequest("%s = %q must be a whole number from %d to %d.", name, text, low, high)
	}
	return int(n), nil
}

// oneOf is a parameter that is empty or one of allowed.
func (p params) oneOf(name string, allowed []string) (string, error) {
	if text := p[name]; text == "" || slices.Contains(allowed, text) {
		return text, nil
	}
	return "", badRequest("%s = %q must be one of %s.", name, p[name], strings.Join(allowed, ", "))
}
