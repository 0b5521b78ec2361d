package sim

// kind is the kind of an event; sim.handle has one case for each.
type kind uint8

// event is one thing to happen. Its subject is an index, not a pointer, so
// that the garbage collector need not scan the queue and no event costs an
// allocation.
type event struct {
	at   int64  // virtual ns
	seq  uint64 // orders events of one time: the one scheduled first comes first
	id   uint32 // call, worker, client or core, depending on kind
	sub  uint16 // which of its reads, slices or heartbeats
	kind kind
}

func (e *event) before(f *event) bool {
	return e.at < f.at || e.at == f.at && e.seq < f.seq
}

// queue is a heap of events with four children a node: half as deep as a
// binary one, and four events lie in two cache lines. The order is total
// (time, then order of scheduling), so equal runs are equal to the bit.
type queue struct {
	heap []event
	now  int64
	seq  uint64
	done uint64 // events taken out
}

// schedule puts an event in, never before now.
func (q *queue) schedule(at int64, k kind, id uint32, sub uint16) {
	q.seq++
	e := event{at: max(at, q.now), seq: q.seq, id: id, sub: sub, kind: k}
	q.heap = append(q.heap, e)
	h, i := q.heap, len(q.heap)-1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(&h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = e
}

// next takes the first event out and sets the clock to it, unless it lies
// beyond until or the queue is empty.
func (q *queue) next(until int64) (event, bool) {
	h := q.heap
	if len(h) == 0 || h[0].at > until {
		q.now = max(q.now, until)
		return event{}, false
	}
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	q.heap = h
	i := 0
	for {
		c := 4*i + 1
		if c >= len(h) {
			break
		}
		least := c
		for j := c + 1; j < min(c+4, len(h)); j++ {
			if h[j].before(&h[least]) {
				least = j
			}
		}
		if !h[least].before(&last) {
			break
		}
		h[i] = h[least]
		i = least
	}
	if len(h) > 0 {
		h[i] = last
	}
	q.now = first.at
	q.done++
	return first, true
}

// fifo is a ring of numbers that grows to the longest queue so far.
type fifo struct {
	ring []uint32
	head int
	n    int
}

func (f *fifo) len() int { return f.n }

func (f *fifo) push(v uint32) {
	if f.n == len(f.ring) {
		bigger := make([]uint32, max(8, 2*len(f.ring)))
		for i := range f.n {
			bigger[i] = f.ring[(f.head+i)%len(f.ring)]
		}
		f.ring, f.head = bigger, 0
	}
	// len is a power of two.
	f.ring[(f.head+f.n)&(len(f.ring)-1)] = v
	f.n++
}

func (f *fifo) pop() uint32 {
	v := f.ring[f.head]
	f.head = (f.head + 1) & (len(f.ring) - 1)
	f.n--
	return v
}

// cores are processors with one queue of calls, workers or clients.
type cores struct {
	free  int
	queue fifo
}

// acquire reports whether id may run at once; else it is queued, and a later
// release returns it.
func (c *cores) acquire(id uint32) bool {
	if c.free > 0 {
		c.free--
		return true
	}
	c.queue.push(id)
	return false
}

// release gives a processor back, or hands it to the next in the queue.
func (c *cores) release() (next uint32, ok bool) {
	if c.queue.len() == 0 {
		c.free++
		return 0, false
	}
	return c.queue.pop(), true
}

// meter serves one message or operation at a time, each for its duration: a
// link or the processing units of a card. Times are fractions of ns, since a
// fast card does an operation in less than ten.
type meter struct{ free float64 }

// pass serves what starts at t and has duration takes; it returns the end.
func (m *meter) pass(t, takes float64) float64 {
	m.free = max(m.free, t) + takes
	return m.free
}

// drain is pass for a message whose last byte comes at t and whose bytes came
// in before: only earlier messages can delay it.
func (m *meter) drain(t, takes float64) float64 {
	m.free = max(m.free+takes, t)
	return m.free
}
