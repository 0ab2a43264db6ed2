package scheduler

import "time"

type state uint8

const (
	fresh state = iota
	waiting
	inFlight
	done
)

// Item is one request on its way through admission. Who asks sets the exported fields of the first
// group, and reads those of the second once a verdict is there. An Item may be used again after
// Reset, when it is neither waiting nor in flight.
type Item struct {
	Flow    *Flow
	MaxWait time.Duration // the rule's longest wait, or the shorter one the request asked for
	OwnWait bool          // MaxWait is the request's own and shorter than the rule's
	Bytes   int64         // memory that it holds while it waits
	Name    []byte        // of the request, told with Judged; it may lie in the request's own memory

	Verdict  Verdict
	Band     Band          // at dispatch, or where it stood when it was refused
	Paid     bool          // its flow's rate has covered it
	OnTime   bool          // the rate covered it on arrival
	Waited   time.Duration // from arrival to the verdict
	Estimate time.Duration // the wait expected at arrival; negative: unknown
	Place    int           // its place in its flow at arrival, itself included; 0: did not wait
	Back     time.Duration // refused: when to come back
	Quota    Quota         // of the flow's rate, just after the verdict
	Load     Load          // turned away: how full its pool was

	rule  *Rule
	state state
	seq   uint64 // order of arrival
	line  *line  // where it waits, or was dispatched from
	prev  *Item  // in its line while it waits, in its pool's flights while in flight
	next  *Item

	arrived    int64 // core time, ns
	dispatched int64
	paidAt     time.Time
	cost       int64 // that its flow's rate paid
	drawn      int64 // that its caller's rate paid; 0 where it has none
	drawnFrom  uint32
	expiry     timer
	entry      *entry  // who was charged for it at dispatch
	charge     float64 // and with how many seat seconds
	counted    Band    // the band it holds its seat in
	long       bool    // counted as long work
	ready      chan struct{}
	ghost      *ghost // that plays it in the shadow, or in the shadow: whose item it is; nil without
}

// Reset makes the item ready for another request.
func (it *Item) Reset() { *it = Item{} }

// Rule is the rule that took the item in.
func (it *Item) Rule() *Rule { return it.rule }

// Breach says that the item broke the promise: its rate had covered it on arrival, and yet it was
// refused, expired or displaced, not by its own doing. What is only observed never is.
func (it *Item) Breach() bool {
	switch it.Verdict {
	case WaitTooLong, WaitExpired:
		return it.OnTime && !it.OwnWait
	case QueueFull, Displaced:
		return it.OnTime
	}
	return false
}

// CutShort says that the request's own bound on its wait has ended it.
func (it *Item) CutShort() bool {
	return it.OwnWait && (it.Verdict == WaitTooLong || it.Verdict == WaitExpired)
}

// list is a doubly linked list of items, first in, first out. An item is in one list at a time.
type list struct {
	head, tail *Item
	n          int
	bytes      int64
}

func (l *list) push(it *Item) {
	it.prev, it.next = l.tail, nil
	if l.tail != nil {
		l.tail.next = it
	} else {
		l.head = it
	}
	l.tail = it
	l.n++
	l.bytes += it.Bytes
}

func (l *list) remove(it *Item) {
	if it.prev != nil {
		it.prev.next = it.next
	} else {
		l.head = it.next
	}
	if it.next != nil {
		it.next.prev = it.prev
	} else {
		l.tail = it.prev
	}
	it.prev, it.next = nil, nil
	l.n--
	l.bytes -= it.Bytes
}
