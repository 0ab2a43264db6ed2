package main
import "flag"
func tenantsCommand(*flag.FlagSet, []string) error { return nil }
func spliceCommand(*flag.FlagSet, []string) error { return nil }
func quietCommand(*flag.FlagSet, []string) error { return nil }
func generatedCommand(*flag.FlagSet, []string) error { return nil }
