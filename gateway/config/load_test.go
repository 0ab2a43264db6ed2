package config

import "testing"

const small = `
[server]
listen = "127.0.0.1:9000"
max_header_bytes = "32KiB"

[[levels]]
name = "standard"

[[pools]]
name = "shared"
[[pools]]
name = "vip"
seats = 8

[[semantics]]
name = "default"
level = "standard"
rate = "5/s"

[[plans]]
name = "free"
rules = [
  { semantic = "default", rate = "2/s" },
]

[[callers]]
id = "acme"
`

func TestFileOverridesDefaultsAndEnvironmentOverridesFile(t *testing.T) {
	c, err := LoadBytes("config.toml", []byte(small), []string{"TIDEGATE__SERVER__LISTEN=127.0.0.1:9001", "HOME=/"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Server.Listen != "127.0.0.1:9001" || c.Server.MaxHeaderBytes != 32*kib || c.Server.MaxBodyBytes != 8*mib {
		t.Errorf("server = %+v", c.Server)
	}
}

func TestListElementsAreFilledOneByOne(t *testing.T) {
	c, err := LoadBytes("config.toml", []byte(small), nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := c.Pools[0]; p.Seats.N != 64 || p.ExcessCeiling != 0.8 || !p.Borrow {
		t.Errorf("first pool = %+v", p)
	}
	if p := c.Pools[1]; p.Seats.N != 8 || p.ExcessCeiling != 0.8 || !p.Borrow {
		t.Errorf("second pool = %+v", p)
	}
	if a := c.Callers[0]; !a.Enabled || a.Plan != "free" || a.Pool != "shared" {
		t.Errorf("caller = %+v", a)
	}
	if r := c.Plans[0].Rules[0]; r.Rate.Text != "2/s" || r.Cost != nil || r.Level != nil {
		t.Errorf("rule = %+v", r)
	}
	if at := c.At("plans[0].rules[0]"); at != "config.toml:23" {
		t.Errorf("rule stands at %s", at)
	}
}
