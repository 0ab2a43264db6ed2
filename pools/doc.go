// Package pools holds what admission counts with: windows and token buckets. It is pure:
// each operation takes the present moment, and none asks the clock.
package pools
