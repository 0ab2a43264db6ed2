//go:build !race

package scheduler

const shorter = 1
