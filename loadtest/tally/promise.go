package tally

import "time"

// Quota is a committed rate: N of any span Per.
type Quota struct {
	N   int
	Per time.Duration
}

// quotaMargin widens the span that a quota is counted over, because the two sides do not see the same moments:
// requests that left 1 s apart may arrive some milliseconds closer, and a sliding window of 64 cells forgets
// up to 1/64 of its span late. 5 % is well above both.
const quotaMargin = 1.05

// surelyPaid says of each request of a flow, sent at these moments in order of time, whether its rate had surely
// paid it on arrival, as far as the sender can tell.
//
// The sender does not know which of its requests ran unpaid in idle seats, cost the rate nothing and so left
// more for the next. It assumes the worst: that all of them are paid, in order, each as soon as the window has
// room, and not closer than Per/N once they have to wait. A request that is paid at once even so was within the
// rate for certain; of the others nothing is said.
func (q Quota) surelyPaid(sent []time.Duration) []bool {
	per := time.Duration(float64(q.Per) * quotaMargin)
	step := per / time.Duration(q.N)
	paid := make([]bool, len(sent))
	payment := make([]time.Duration, len(sent))
	for i, at := range sent {
		due := at
		if i > 0 && payment[i-1] > at {
			due = payment[i-1] + step
		}
		if i >= q.N {
			due = max(due, payment[i-q.N]+per)
		}
		payment[i] = due
		paid[i] = due == at
	}
	return paid
}
