// Package pools holds what admission counts with: sliding windows and token buckets. It is pure: each operation takes the
// present moment, and none asks the clock.
//
// A window promises that of any span of Per, its end left out, at most N is paid; a bucket, that in any span of t at most
// Burst + t x N/Per is paid. Both are integer arithmetic: what Ready says is exact, and Take at that moment succeeds.
package pools
