package console

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// Whoever has many logins under way at once guesses no more often than one after another: the token that lets in is no
// longer listened to either.
func TestLoginsUnderWayAtOnceAreBoundedTogether(t *testing.T) {
	overConnections(t, func(t *testing.T, _ *desk, dial func() *line) {
		const most = 3 * maxAttempts
		lines := make([]*line, most)
		body := func(i int) string {
			if i == most-1 {
				return `{"token":"s3cret"}`
			}
			return fmt.Sprintf(`{"token":"gues%02d"}`, i)
		}
		for i := range lines {
			lines[i] = dial()
			lines[i].send(requestHead("POST", sessionPath, asJSON, fmt.Sprintf("Content-Length: %d", len(body(i)))), "{")
		}
		synctest.Wait() // all were let in, and their bodies are waited for
		got := map[string]int{}
		for i, l := range lines {
			status, _ := l.send(body(i)[1:]).answer()
			got[status]++
		}
		if got["401 token_unknown"] != maxAttempts || got["429 too_many_attempts"] != most-maxAttempts {
			t.Errorf("%v", got)
		}
	}, tokenOf("s3cret", "owner"))
}
