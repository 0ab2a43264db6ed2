package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestMain makes the test binary usable as the two programs of a stage: `run -config F` is the fake gateway,
// `upstream ...` the sample upstream.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "run":
			fmt.Fprintln(os.Stderr, fakeMain(os.Args[3]))
			os.Exit(1)
		case "upstream", "flat":
			main()
			return
		}
	}
	os.Exit(m.Run())
}

func TestTheClientImportsNothingOfTheGateway(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-test", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for _, pkg := range strings.Split(string(out), "\n") {
		pkg, _, _ = strings.Cut(pkg, " ") // "pkg [for test]"
		switch {
		case strings.HasPrefix(pkg, "tidegate/loadtest"):
			own++
		case pkg == "tidegate" || strings.HasPrefix(pkg, "tidegate/"):
			t.Errorf("it imports %s", pkg)
		}
	}
	if own == 0 {
		t.Error("not one package of its own is listed: this test sees nothing")
	}
}

func TestCommandLinesThatCannotBePlayedSayWhy(t *testing.T) {
	for _, step := range []struct{ args, want string }{
		{"", "no scenario is named"},
		{"promotion", "there is no such scenario"},
		{"promo -seconds 5", "from 60 to 600"},
		{"promo -seconds 6000", "from 60 to 600"},
		{"promo now", `unknown argument "now"`},
		{"promo -seed x", "invalid value"},
		{"reload -seconds 5", "from 10 to 600"},
		{"reload now", `unknown argument "now"`},
		{"crash -rounds 0", "from 1 to 1000"},
		{"crash now", `unknown argument "now"`},
		{"upstream -group vip", "name=caller,caller"},
		{"promo -markdown", "belong to -compare"},
		{"promo -flat-qps 5", "belong to -compare"},
		{"promo -workers -1", "-workers"},
		{"promo -compare -flat-qps -1", "-flat-qps"},
		{"upstream -listen nowhere", "cannot serve on nowhere"},
		{"flat -listen nowhere", "cannot serve on nowhere"},
		{"flat -qps 0", "at least 1"},
	} {
		err := run(context.Background(), strings.Fields(step.args), io.Discard)
		if err == nil || !strings.Contains(err.Error(), step.want) {
			t.Errorf("%q: %v, want %q", step.args, err, step.want)
		}
	}
	var out bytes.Buffer
	if err := run(context.Background(), []string{"help"}, &out); err != nil || !strings.Contains(out.String(), "promo") {
		t.Errorf("help: %v, %q", err, out.String())
	}
}
