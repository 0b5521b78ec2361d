package sim

// How many bytes a client fetches at first. A fetch of more than the answer
// wastes the server's link, one of less costs another read:
//
//	operations(n) = request + read + P(answer > n) read
//	link(n)       = n + P(answer > n) what is left
//
// in time of the server's card, which clients share. It does both at once, so the
// longer one counts, and the other one a little. A client knows the sizes that it
// has seen lately; the times of an operation and a byte come from a calibration,
// like the one of RFP's successor (EuroSys 2017) for its fetch size.

// sizeClass: fetches are of whole lines.
const (
	sizeClass   = 64
	sizeClasses = maxValueBytes/sizeClass + 2
	sizesKept   = 256 // answers that count for the choice, more or less
	sizesEvery  = 32  // answers from one choice to the next
)

// fetchSize is one client's choice.
type fetchSize struct {
	seen  []float64 // weights of answers by lines, the older the less
	until int       // answers until the next choice
	bytes int
	grows float64 // weight of the next answer
}

func newFetchSize() fetchSize {
	return fetchSize{seen: make([]float64, sizeClasses), bytes: sizeClass, until: 1, grows: 1}
}

// note records an answer of bytes bytes.
func (f *fetchSize) note(c *card, bytes int) {
	f.seen[min((bytes+sizeClass-1)/sizeClass, sizeClasses-1)] += f.grows
	if f.until--; f.until > 0 {
		return
	}
	f.until = sizesEvery
	f.choose(c)
	// New weights grow, instead of all old ones shrinking, until they are large.
	if f.grows *= 1 + float64(sizesEvery)/sizesKept; f.grows > 1e12 {
		for i := range f.seen {
			f.seen[i] /= f.grows
		}
		f.grows = 1
	}
}

func (f *fetchSize) choose(c *card) {
	all, left, most := 0.0, 0.0, 0
	for i, w := range f.seen {
		if w > 0 {
			all += w
			left += float64(w * float64(i))
			most = i
		}
	}
	best, least := 0, 0.0
	above := all
	for lines := 0; lines <= most; lines++ {
		above -= f.seen[lines]
		left -= float64(f.seen[lines] * float64(lines))
		if lines == 0 {
			continue
		}
		// What is left of the longer ones: their lines beyond these.
		rest := max(0, left-float64(above*float64(lines)))
		ops := float64(c.inNs * (2 + above/all))
		link := c.onWire(float64(lines*sizeClass)) +
			(float64(above*float64(c.overhead*c.byteNs))+float64(rest*float64(sizeClass*c.byteNs)))/all
		if cost := max(ops, link) + (ops+link)/8; best == 0 || cost < least {
			best, least = lines*sizeClass, cost
		}
	}
	f.bytes = max(best, sizeClass)
}

// mover decides whether a client's next answer is fetched or written. A client
// asks for a written answer when its fetches without an answer reach a limit;
// after two such calls in a row all answers are written, until one comes so
// fast that the fetches would have found it. The paper's arXiv version lacks
// this, its successor has it.
type mover struct {
	tried  int // fetches of this call that found no answer
	slow   int // calls in a row that reached the limit
	writes bool
	asked  int64   // when the request was complete
	tripNs float64 // of a fetch, the mean of recent ones
}

// fetched records the duration of a fetch.
func (m *mover) fetched(took int64) { m.tripNs += (float64(took) - m.tripNs) / 8 }

// vain counts a fetch that found nothing; true: ask for a written answer now.
func (m *mover) vain(limit int) bool {
	m.tried++
	return limit > 0 && m.tried == limit
}

// over records the end of a call.
func (m *mover) over(now int64, limit int) {
	switch {
	case limit == 0:
	case m.writes:
		m.writes = float64(now-m.asked) > float64(float64(limit)*m.tripNs)
	case m.tried < limit:
		m.slow = 0
	default:
		if m.slow++; m.slow == 2 {
			m.slow, m.writes = 0, true
		}
	}
	m.tried = 0
}
