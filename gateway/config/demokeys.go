package config

import "crypto/sha256"

// demoKeys are the keys that the reference config.toml shows in plain. Everybody knows them, so they are
// refused wherever others than this machine could use them.
var demoKeys = []string{
	"test",
	"demo-bluebird",
	"demo-heron",
	"demo-magpie",
	"demo-spider-77",
}

// demoKey says whether a hash is that of a demo key, and of which.
func demoKey(sum [32]byte) (plain string, ok bool) {
	for _, plain := range demoKeys {
		if sha256.Sum256([]byte(plain)) == sum {
			return plain, true
		}
	}
	return "", false
}

// DemoKey is the plain text of a demo key that an enabled caller of c has, "" if none has: what a
// newcomer can try at once.
func DemoKey(c *Config) string {
	for _, caller := range c.Callers {
		if !caller.Enabled {
			continue
		}
		for _, k := range caller.Keys {
			if sum, err := ParseHash(k); err == nil {
				if plain, ok := demoKey(sum); ok {
					return plain
				}
			}
		}
	}
	return ""
}
