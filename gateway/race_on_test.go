//go:build race

package gateway

// raceEnabled: under the race detector pools forget on purpose, so allocations are not counted.
const raceEnabled = true
