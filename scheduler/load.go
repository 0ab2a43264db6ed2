package scheduler

// Load is how full a pool was at the moment an item was turned away.
type Load struct {
	Pool           string
	Seats          int
	InUse, Waiting int
}
