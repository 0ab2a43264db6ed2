package console

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"tidegate/gateway/config"
)

// A thousand clients write at once, round after round: one of each round wins, everybody is answered,
// and what is held meanwhile stays within its bound.
func TestOfAThousandWritesAtOnceExactlyOneWins(t *testing.T) {
	overConnections(t, func(t *testing.T, d *desk, dial func() *line) {
		const clients, rounds = 1000, 3
		cookie, _, _ := d.logIn(t, "b")
		by := []string{"Authorization: Bearer a", pair(cookie)} // one half comes with tokens, the other in sessions
		lines := make([]*line, clients)
		for i := range lines {
			lines[i] = dial()
		}
		for round := range rounds {
			_, tag := d.control.Text()
			filler := strings.Repeat("#", 100)
			if round == rounds-1 {
				filler = strings.Repeat("#", 40_000) // more than there is memory for at once
			}
			statuses := make([]string, clients)
			tags := make([]string, clients)
			var all sync.WaitGroup
			start := make(chan struct{})
			for i, l := range lines {
				all.Go(func() {
					text := fmt.Sprintf("round = %d\nclient = %d\n%s", round, i, filler)
					sent := requestHead("PUT", "/api/v1/config", asTOML, "If-Match: "+tag, by[i%2], fmt.Sprint("Content-Length: ", len(text)))
					<-start
					go l.send(sent, text)
					status, a := l.answer()
					statuses[i], tags[i] = status, string(a.Header.Peek("ETag"))
				})
			}
			close(start)
			all.Wait()
			text, now := d.control.Text()
			won := 0
			for i, status := range statuses {
				switch {
				case status == "200":
					won++
					if made := d.control.Versions()[0]; made.Actor != [...]string{"ann", "bob"}[i%2] {
						t.Errorf("round %d: client %d won, and the version is %s's", round, i, made.Actor)
					}
					if want := fmt.Sprintf("round = %d\nclient = %d\n", round, i); !strings.HasPrefix(string(text), want) {
						t.Errorf("round %d: client %d was told that it won, and another's text is in force", round, i)
					}
				case status != "412 precondition_failed":
					t.Fatalf("round %d: client %d was answered %s", round, i, status)
				}
				if tags[i] != now {
					t.Errorf("round %d: client %d was told %s (%s), in force is %s", round, i, tags[i], status, now)
				}
			}
			if won != 1 || len(d.control.Versions()) != round+2 {
				t.Fatalf("round %d: %d won, %d versions", round, won, len(d.control.Versions()))
			}
		}
		if n := d.server.GetRejectedConnectionsCount(); n != 0 {
			t.Errorf("%d connections were refused", n)
		}
	}, ownerNamed("ann", "a"), ownerNamed("bob", "b"))
}

func ownerNamed(name, secret string) config.Token {
	token := tokenOf(secret, "owner")
	token.Name = name
	return token
}
