package record

// Order gives records back in the order of their time, and those of one moment in the order in which they came. It
// holds what was put in and not yet taken. The zero Order is empty.
type Order struct {
	heap    []queued
	records []Record // by queued.at; those that are free among them
	free    []int32
	count   uint64
}

// queued is where a record is. Records themselves are too large to be moved about in a heap.
type queued struct {
	time  int64
	count uint64
	at    int32
}

func (p queued) before(q queued) bool {
	return p.time < q.time || p.time == q.time && p.count < q.count
}

// Len is how many records are held.
func (o *Order) Len() int { return len(o.heap) }

// First is the time of the record that Take would return. There must be one.
func (o *Order) First() int64 { return o.heap[0].time }

// Put adds a record.
func (o *Order) Put(r Record) {
	var at int32
	if n := len(o.free); n > 0 {
		at, o.free = o.free[n-1], o.free[:n-1]
		o.records[at] = r
	} else {
		at = int32(len(o.records))
		o.records = append(o.records, r)
	}
	o.count++
	p := queued{r.At, o.count, at}
	o.heap = append(o.heap, p)
	i := len(o.heap) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !p.before(o.heap[up]) {
			break
		}
		o.heap[i] = o.heap[up]
		i = up
	}
	o.heap[i] = p
}

// Take removes the first record. There must be one.
func (o *Order) Take() Record {
	first := o.heap[0].at
	n := len(o.heap) - 1
	p := o.heap[n]
	o.heap = o.heap[:n]
	i := 0
	for {
		down := 2*i + 1
		if down >= n {
			break
		}
		if down+1 < n && o.heap[down+1].before(o.heap[down]) {
			down++
		}
		if !o.heap[down].before(p) {
			break
		}
		o.heap[i] = o.heap[down]
		i = down
	}
	if n > 0 {
		o.heap[i] = p
	}
	r := o.records[first]
	o.records[first] = Record{}
	o.free = append(o.free, first)
	return r
}
