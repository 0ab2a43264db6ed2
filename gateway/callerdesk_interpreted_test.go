//go:build callerscode

package gateway

import (
	"os/exec"
	"testing"
)

// The code in Python and Node is held to the same, where there are Python and Node: `make callers-code`.
func TestTheInterpretedCodeOfThePageKeepsTheRules(t *testing.T) {
	ran := 0
	for _, tc := range []struct{ id, file, interpreter string }{{"py", "send.py", "python3"}, {"mjs", "send.mjs", "node"}} {
		path, err := exec.LookPath(tc.interpreter)
		if err != nil {
			t.Logf("%s is not run: there is no %s here", tc.file, tc.interpreter)
			continue
		}
		ran++
		for _, lang := range []string{"en", "zh"} {
			t.Run(tc.interpreter+" "+lang, func(t *testing.T) {
				w := newCodeWorld(t)
				w.keepsTheRules(path, w.code(tc.id, lang, tc.file))
			})
		}
	}
	if ran == 0 {
		t.Fatal("there is neither python3 nor node here: nothing was run")
	}
}
