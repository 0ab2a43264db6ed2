package stage

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build builds the gateway from the module that the working directory lies in, into dir.
func Build(ctx context.Context, dir string) (program string, err error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("cannot find the gateway's module: go env GOMOD: %w; name a built gateway with -gateway", err)
	}
	file := strings.TrimSpace(string(out))
	if filepath.Base(file) != "go.mod" {
		return "", errors.New("cannot find the gateway's module: this is not inside it; change there, or name a built gateway with -gateway")
	}
	program = filepath.Join(dir, "tidegate")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	build.Dir = filepath.Dir(file)
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the gateway in %s: %w\n%s", build.Dir, err, text)
	}
	return program, nil
}
