package main

import (
	"crypto/rand"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
)

// newKey prints a key with 160 random bits and the hash that the config wants. The key itself is kept
// nowhere.
func newKey(args []string, out io.Writer) error {
	if err := parse(flag.NewFlagSet("key", flag.ContinueOnError), args); err != nil {
		return err
	}
	key := "tg-" + rand.Text() + rand.Text()[:6]
	fmt.Fprintf(out, "key:    %s\nconfig: \"sha256:%x\"\n", key, sha256.Sum256([]byte(key)))
	return nil
}
