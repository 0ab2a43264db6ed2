package replay

import (
	"math/bits"
	"time"
)

// histogram counts waits in buckets that grow with them: 32 to each doubling, so that what is read from one is
// within 1.6 % of what was put in, and to the microsecond below 32 us. It holds the buckets between the shortest and the
// longest wait, at most some 1,500. The zero value is empty.
type histogram struct {
	first  int // number of counts[0]
	counts []int64
	total  int64
}

const perDoubling = 32

// bucketOf is the number of the bucket of a wait in microseconds.
func bucketOf(us uint64) int {
	if us < perDoubling {
		return int(us)
	}
	shift := bits.Len64(us) - 6
	return shift*perDoubling + int(us>>shift)
}

// middleOf is the middle of a bucket.
func middleOf(bucket int) time.Duration {
	if bucket < perDoubling {
		return time.Duration(bucket) * time.Microsecond
	}
	shift := bucket/perDoubling - 1
	least := uint64(bucket-shift*perDoubling) << shift
	return time.Duration(least)*time.Microsecond + time.Duration(uint64(1)<<shift)*time.Microsecond/2
}

func (h *histogram) add(d time.Duration) {
	h.addAt(bucketOf(uint64(max(d, 0)/time.Microsecond)), 1)
}

func (h *histogram) addAt(bucket int, n int64) {
	switch {
	case len(h.counts) == 0:
		h.first = bucket
		h.counts = append(h.counts, 0)
	case bucket < h.first:
		h.counts = append(make([]int64, h.first-bucket), h.counts...)
		h.first = bucket
	case bucket >= h.first+len(h.counts):
		h.counts = append(h.counts, make([]int64, bucket-h.first-len(h.counts)+1)...)
	}
	h.counts[bucket-h.first] += n
	h.total += n
}

// join adds all of another one.
func (h *histogram) join(o *histogram) {
	for i, n := range o.counts {
		if n > 0 {
			h.addAt(o.first+i, n)
		}
	}
}

// quantile is the wait that a share q of all did not exceed, where zero more waited for nothing; 0 if there are none.
func (h *histogram) quantile(q float64, zero int64) time.Duration {
	rank := int64(q * float64(h.total+zero))
	if rank < zero {
		return 0
	}
	rank -= zero
	for i, n := range h.counts {
		if rank < n {
			return middleOf(h.first + i)
		}
		rank -= n
	}
	if len(h.counts) == 0 {
		return 0
	}
	return middleOf(h.first + len(h.counts) - 1)
}
