// Command tidegate is a semantic queueing gateway: the front door of an open API platform.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

// version is set by the linker in releases.
var version = ""

// command is one of the words after the program's name.
type command struct {
	name  string
	about string
	run   func(args []string, out io.Writer) error
}

var commands = []command{
	{"run", "serve (the default)", serve},
	{"check", "check a config file; every problem with its place", check},
	{"explain", "say which rule a request meets, and why", explain},
	{"replay", "play a trace through a config: who would wait, who would be refused", replayTrace},
	{"convert", "make a trace of nginx, combined or common access logs", convert},
	{"key", "make a new key and the hash to put into the config", newKey},
	{"version", "print the version", printVersion},
}

// errSaid is a failure that has been said in full already.
var errSaid = errors.New("failed")

// errHelped ends a command whose flags were asked for with -h: that is no failure.
var errHelped = errors.New("helped")

func main() {
	args := os.Args[1:]
	name := "run"
	if len(args) > 0 && len(args[0]) > 0 && args[0][0] != '-' {
		name, args = args[0], args[1:]
	} else if len(args) == 1 {
		switch args[0] {
		case "-h", "-help", "--help":
			name = "help"
		case "-v", "-version", "--version":
			name, args = "version", nil
		}
	}
	for _, c := range commands {
		if c.name == name {
			exit(c.run(args, os.Stdout))
		}
	}
	if name == "help" {
		usage(os.Stdout)
		os.Exit(0)
	}
	fmt.Fprintf(os.Stderr, "tidegate: there is no command %q\n\n", name)
	usage(os.Stderr)
	os.Exit(2)
}

func exit(err error) {
	switch {
	case err == nil, errors.Is(err, errHelped):
		os.Exit(0)
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case !errors.Is(err, errSaid):
		fmt.Fprintln(os.Stderr, "tidegate:", err)
	}
	os.Exit(1)
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: tidegate [command] [flags]")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.about)
	}
	fmt.Fprintln(w, "tidegate <command> -h lists the flags.")
}

// programVersion is the release's version, or what the build knows of its source.
func programVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "dev-" + s.Value[:min(len(s.Value), 12)]
		}
	}
	return "dev"
}

// parse reads a command's flags. A word too many is an error: who writes "check other.toml" must not be told
// that config.toml is fine.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return errHelped
		}
		return flag.ErrHelp // said already
	}
	if flags.NArg() > 0 {
		rest := ""
		flags.VisitAll(func(*flag.Flag) { rest = "; its flags are:" })
		fmt.Fprintf(flags.Output(), "tidegate: %s takes no %q%s\n", flags.Name(), flags.Arg(0), rest)
		flags.PrintDefaults()
		return flag.ErrHelp
	}
	return nil
}

func printVersion(args []string, out io.Writer) error {
	if err := parse(flag.NewFlagSet("version", flag.ContinueOnError), args); err != nil {
		return err
	}
	fmt.Fprintln(out, "tidegate", programVersion())
	return nil
}
