package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The checks, by the names of their violations.
const (
	lookReady     = "ready"
	lookWrites    = "writes"
	lookConfig    = "config"
	lookVersions  = "versions"
	lookOverrides = "overrides"
	lookFiles     = "files"
)

// Bounds on what lies in the directories. A version is a file, 20 are kept, and one more while the oldest goes; beside
// them the overrides, the windows, and room for as many again. A write that was cut leaves one unfinished file, which
// the next start may find and remove; one may be being written at the moment of looking.
const (
	mostFiles      = 30
	mostUnfinished = 1
	mostBeside     = 2 // the config and a file that is just being written
)

func (v *violations) add(check, when, format string, args ...any) {
	if *v == nil {
		*v = make(violations)
	}
	if len((*v)[check]) < violationsKept {
		(*v)[check] = append((*v)[check], when+": "+fmt.Sprintf(format, args...))
	}
}

// look holds what a gateway that has just come up shows against what it acknowledged.
func (c *crashed) look(ctx context.Context, when string) {
	text, _, err := c.admin.ConfigText(ctx)
	if err != nil {
		c.wrong.add(lookConfig, when, "cannot be read: %v", err)
		return
	}
	overrides, err := c.readOverrides(ctx, when)
	if err != nil {
		c.wrong.add(lookOverrides, when, "cannot be read: %v", err)
		return
	}
	acknowledged := c.ledger.version
	textHeld, overridesHeld, won := c.ledger.settle(text, overrides)
	if !textHeld {
		c.wrong.add(lookConfig, when, "neither the last that was acknowledged nor the one under way is in force (%d bytes)", len(text))
	}
	if !overridesHeld {
		c.wrong.add(lookOverrides, when, "%v are neither those acknowledged nor those under way", overrides)
	}
	if won {
		c.tally.Won++
	}
	if file, err := os.ReadFile(c.stage.File); err != nil || string(file) != string(text) {
		c.wrong.add(lookConfig, when, "the file is not what is said to be in force (%d bytes and %d; %v)", len(file), len(text), err)
	}
	c.lookAtVersions(ctx, when, text, acknowledged)
	c.lookAtFiles(when)
}

func (c *crashed) readOverrides(ctx context.Context, when string) (map[string]string, error) {
	list, err := c.admin.Overrides(ctx)
	if err != nil {
		return nil, err
	}
	overrides := make(map[string]string)
	for _, o := range list {
		overrides[o.Name] = o.Value
		if o.Aside != "" {
			c.wrong.add(lookOverrides, when, "%s does not act: %s", o.Name, o.Aside)
		}
	}
	return overrides, nil
}

// lookAtVersions holds that the list can be read, that numbers grow and stand for the same text for ever, that
// nothing acknowledged is lost, and that the newest is what runs.
func (c *crashed) lookAtVersions(ctx context.Context, when string, text []byte, acknowledged int) {
	versions, err := c.admin.Versions(ctx)
	if err != nil || len(versions) == 0 {
		c.wrong.add(lookVersions, when, "%d can be read: %v", len(versions), err)
		return
	}
	sum := sha256.Sum256(text)
	if newest := versions[0]; newest.Hash != hex.EncodeToString(sum[:]) {
		c.wrong.add(lookVersions, when, "the newest, %d, is not what runs", newest.Version)
	}
	if newest := versions[0]; newest.Version < acknowledged {
		c.wrong.add(lookVersions, when, "the newest is %d, and %d was acknowledged", newest.Version, acknowledged)
	}
	for i, v := range versions {
		if i > 0 && v.Version >= versions[i-1].Version {
			c.wrong.add(lookVersions, when, "%d is listed after %d", v.Version, versions[i-1].Version)
		}
		if known, ok := c.ledger.hashes[v.Version]; ok && known != v.Hash {
			c.wrong.add(lookVersions, when, "%d has another text than before", v.Version)
		}
		c.ledger.hashes[v.Version] = v.Hash
	}
	c.ledger.version = max(c.ledger.version, versions[0].Version)
	c.tally.Versions = versions[0].Version
}

func (c *crashed) lookAtFiles(when string) {
	files, unfinished := 0, 0
	state, err := os.ReadDir(c.stage.Config.StateDir)
	if err != nil {
		c.wrong.add(lookFiles, when, "%v", err)
	}
	for _, f := range state {
		files++
		if strings.HasPrefix(f.Name(), ".") {
			unfinished++
		}
	}
	beside, err := os.ReadDir(filepath.Dir(c.stage.File))
	if err != nil {
		c.wrong.add(lookFiles, when, "%v", err)
	}
	if files > mostFiles || unfinished > mostUnfinished || len(beside) > mostBeside {
		c.wrong.add(lookFiles, when, "%d files in state.dir, %d of them unfinished, %d beside the config", files, unfinished, len(beside))
	}
	c.tally.Files = max(c.tally.Files, files)
	c.tally.Leftover = max(c.tally.Leftover, unfinished)
	c.tally.Beside = max(c.tally.Beside, len(beside))
}
