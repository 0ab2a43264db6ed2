package gateway

import (
	"math/bits"
	"sync"
)

// bodyBuffer is memory for a body, of a power of two bytes where it came from a pool.
type bodyBuffer struct {
	b     []byte
	class int // of the pool; -1: none
}

const (
	smallestClass = 10 // 1 KiB
	largestClass  = 20 // 1 MiB; larger ones are left to the garbage collector
	firstBuffer   = 4 << 10
)

var bodyBuffers [largestClass + 1]sync.Pool

// takeBuffer returns memory of at least n bytes, and of exactly n above the largest class.
func takeBuffer(n int64) *bodyBuffer {
	class := bufferClass(n)
	if class < 0 {
		return &bodyBuffer{b: make([]byte, n), class: -1}
	}
	if v := bodyBuffers[class].Get(); v != nil {
		return v.(*bodyBuffer)
	}
	return &bodyBuffer{b: make([]byte, 1<<class), class: class}
}

func (b *bodyBuffer) giveBack() {
	if b.class >= 0 {
		bodyBuffers[b.class].Put(b)
	}
}

func bufferClass(n int64) int {
	class := max(bits.Len64(uint64(max(n, 1)-1)), smallestClass)
	if class > largestClass {
		return -1
	}
	return class
}

// bufferSize is how many bytes takeBuffer(n) holds.
func bufferSize(n int64) int64 {
	if class := bufferClass(n); class >= 0 {
		return 1 << class
	}
	return n
}

// grow moves the body into memory of at least n bytes, if the budget has them; else nothing changes.
func (b *requestBody) grow(n int64) bool {
	size := bufferSize(n)
	if !b.limits.memory.take(size - b.held) {
		return false
	}
	next := takeBuffer(n)
	moved := copy(next.b, b.buffer)
	old := b.pooled
	b.pooled, b.buffer, b.held = next, next.b[:moved], size
	if old != nil {
		old.giveBack()
	}
	return true
}

// release gives the body's memory back.
func (b *requestBody) release() {
	if b.pooled == nil {
		return
	}
	b.pooled.giveBack()
	b.limits.memory.give(b.held)
	b.pooled, b.buffer, b.held = nil, nil, 0
	b.stream.prefix = nil
}
