package gateway

import (
	"testing"

	"tidegate/gateway/config"
	"tidegate/gateway/console"
)

// An operator turns one caller down: it holds for him at once, over a restart too, and for nobody else of his plan.
func TestAFlowIsTurnedDownAlone(t *testing.T) {
	d := newDesk(t, basic)
	by := console.Change{Actor: "otto", Role: "operator", From: "127.0.0.1", Reason: "runaway script"}
	rates := func() (list [2]string) {
		for i, caller := range []string{"ann", "bob"} {
			p := d.g.live.Load().policy
			list[i] = p.Choose(p.Caller(caller), p.Route("chat"), p.Semantic("chat")).RateText
		}
		return list
	}
	if _, err := d.control().SetOverride(by, config.Override{Name: "flows.ann/chat.rate", Value: "5/s"}); err != nil {
		t.Fatal(err)
	}
	if got := rates(); got != [2]string{"5/s", "100/s"} {
		t.Errorf("rates are %v", got)
	}
	d.restart()
	if got := rates(); got != [2]string{"5/s", "100/s"} {
		t.Errorf("after a restart rates are %v", got)
	}
	if o := d.control().Overrides()[0]; o.Role != "operator" || o.Actor != "otto" {
		t.Errorf("%+v", o)
	}
	// No higher than the owner said, and nothing is said of it: the file's rate is the bound.
	d.fails(console.CodeRateBound, func() (*console.Changed, error) {
		return d.control().SetOverride(by, config.Override{Name: "flows.ann/chat.rate", Value: "101/s"})
	})
	if _, err := d.control().DropOverride(by, "flows.ann/chat.rate"); err != nil || rates() != [2]string{"100/s", "100/s"} {
		t.Errorf("%v, %v", rates(), err)
	}
}
