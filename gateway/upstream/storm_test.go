package upstream

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// Whatever targets and clients do, each exchange is told its two ends once, and nothing is left over.
func TestEveryExchangeEndsOnce(t *testing.T) {
	for seed := range uint64(4) {
		bubble(t, func(t *testing.T) {
			var mu sync.Mutex
			random := rand.New(rand.NewPCG(seed, 1))
			roll := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return random.IntN(n)
			}
			pause := func() { time.Sleep(time.Duration(roll(40)) * time.Second / 2) }

			wild := func(_ int, c net.Conn, br *bufio.Reader) {
				for {
					if roll(20) == 0 {
						return
					}
					if req, _ := readRequest(br); req == nil {
						return
					}
					body := strings.Repeat("x", 1<<roll(20))
					var parts []string
					switch roll(7) {
					case 0:
						parts = []string{ok(body)}
					case 1:
						parts = []string{ok(body)[:20], ok(body)[20:]}
					case 2:
						parts = []string{chunked, chunk(body), chunk(body), "0\r\n\r\n"}
					case 3:
						parts = []string{events + chunk(body) + "0\r\n\r\n"}
					case 4:
						parts = []string{chunked, chunk(body), "garbage\r\n"}
					case 5:
						return
					case 6:
						parts = []string{"HTTP/1.1 204 No Content\r\n\r\n"}
					}
					for _, p := range parts {
						if roll(4) == 0 {
							pause()
						}
						if _, err := io.WriteString(c, p); err != nil {
							return
						}
						if roll(15) == 0 {
							return
						}
					}
				}
			}
			r := newRig(t, Options{WriteStall: 5 * time.Second, BodyStall: 5 * time.Second, AnswerBuffer: 64 << 10},
				map[string]targetFunc{"a": wild, "b": wild, "c": nil})
			const clients, requests = 40, 10
			var wg sync.WaitGroup
			var mustEnd sync.Mutex
			reached := 0
			for range clients {
				wg.Add(1)
				go func() {
					defer wg.Done()
					for range requests {
						nc, err := r.front.Dial()
						if err != nil {
							t.Error(err)
							return
						}
						c := &client{nc, bufio.NewReader(nc)}
						mustEnd.Lock()
						reached++
						mustEnd.Unlock()
						switch roll(4) {
						case 0, 1:
							c.send(simpleGet)
						case 2:
							c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello")
						case 3:
							c.send(fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", 100_000) + strings.Repeat("y", 9000))
							if roll(2) == 0 {
								c.send(strings.Repeat("y", 91_000))
							}
						}
						switch roll(4) {
						case 0:
							pause() // and leaves without reading
						case 1:
							_, _ = c.br.ReadByte()
							pause()
						default:
							_ = c.SetReadDeadline(time.Now().Add(time.Minute))
							_, _ = io.Copy(io.Discard, c.br)
						}
						_ = c.Close()
					}
				}()
			}
			wg.Wait()
			r.end()
			if seats, ends := r.told.counts(); seats != reached || ends != reached {
				t.Errorf("seed %d: %d requests, SeatDone %d times, Finished %d times", seed, reached, seats, ends)
			}
		})
	}
}
