package upstream

import (
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
)

func TestTheUpstreamCountsExactlyWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := fasthttputil.NewInmemoryListener()
		server := New(Options{Groups: map[string][]string{"vip": {"vip-1", "vip-2"}}})
		go server.Serve(listener)
		client := &fasthttp.HostClient{Addr: "sample", MaxConns: 100, Dial: func(string) (net.Conn, error) { return listener.Dial() }}
		ask := func(path, caller, semantic string) []byte {
			request, answer := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			request.SetRequestURI("http://sample" + path)
			request.Header.Set("X-Tidegate-Caller", caller)
			request.Header.Set("X-Tidegate-Semantic", semantic)
			if err := client.Do(request, answer); err != nil {
				t.Error(err)
			}
			return answer.Body()
		}
		counts := func() (c Counts) {
			if err := json.Unmarshal(ask(StatsPath, "", ""), &c); err != nil {
				t.Fatal(err)
			}
			return c
		}

		var wg sync.WaitGroup
		began := time.Now()
		for i := range 9 {
			wg.Go(func() { ask("/v1/chat/x", fmt.Sprintf("vip-%d", 1+i%2), "chat") })
		}
		for range 5 {
			wg.Go(func() { ask("/v1/reports/x", "spider", "export") })
		}
		time.Sleep(ChatTime / 2)
		if c := counts(); c.InFlight != 14 || c.Groups["vip"].InFlight != 9 || c.Groups[Rest].InFlight != 5 {
			t.Errorf("during the chat: %+v", c)
		}
		time.Sleep(ChatTime)
		if c := counts(); c.InFlight != 5 || c.Groups["vip"].InFlight != 0 {
			t.Errorf("after the chat: %+v", c)
		}
		wg.Wait()
		if took := time.Since(began); took != ExportTime {
			t.Errorf("the exports took %v, want %v", took, ExportTime)
		}
		ask("/v1/chat/x", "vip-1", "chat")
		ask("/v1/chat/x", "", "") // nobody vouched for this one
		c := counts()
		if c.InFlight != 0 || c.Peak != 14 || c.Served != 16 {
			t.Errorf("at the end: %+v", c)
		}
		if vip := c.Groups["vip"]; vip != (Group{Served: 10, Peak: 9}) {
			t.Errorf("vip: %+v", vip)
		}
		if c.Tags["vip-1"]["chat"] != 6 || c.Tags["spider"]["export"] != 5 || c.Tags[""][""] != 1 {
			t.Errorf("tags: %v", c.Tags)
		}
		client.CloseIdleConnections()
		listener.Close()
		time.Sleep(time.Minute) // the server's own goroutines run out
	})
}
