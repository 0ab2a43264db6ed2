//go:build race

package scheduler

// Under the race detector everything takes some fifteen times as long, and the core is not concurrent:
// the long runs are shortened there, and whole without it.
const shorter = 10
