package sim

// posts are what threads of one host do to each other when they start
// operations on its card.
//
// A thread that posts takes the lock of the card's doorbell, and the card takes
// the operation before the next thread may post. Threads that wait for the lock
// look at its line all the time, so that handing it over takes the longer the
// more of them there are:
//
//	thread 1   ..post|------ out ------|..............
//	thread 2     post|  looks, looks   |-- out + wait --|....
//	thread 3       post|  looks, looks                  |-- out + wait --|
//
// Whoever finds the lock free, but posted last by another thread, fetches the
// line from that thread's cache first (moveNs). Fitted to table I of RFP, which
// is about writes of 32 bytes: see clusters/connectx3.toml.
type posts struct {
	waitNs, moveNs float64
	most           int       // threads that can wait at once
	ends           []float64 // of operations that are not over, from first on
	first          int
	last           uint32 // the thread that posted last
}

// noThread posted yet.
const noThread = ^uint32(0)

// waits is what an operation that begins at now takes longer. Those that it finds
// waiting stand for those that will wait while it is handed over: in a closed loop
// an operation leaves as many behind as it found. The one that the card is at
// does not wait.
func (p *posts) waits(now float64) float64 {
	if p.waitNs == 0 {
		return 0
	}
	for p.first < len(p.ends) && p.ends[p.first] <= now {
		p.first++
	}
	if p.first > 64 && 2*p.first > len(p.ends) {
		p.ends = p.ends[:copy(p.ends, p.ends[p.first:])]
		p.first = 0
	}
	return float64(p.waitNs * float64(max(0, min(len(p.ends)-p.first-1, p.most))))
}

// note keeps the end of an operation, and returns it.
func (p *posts) note(end float64) float64 {
	if p.waitNs > 0 {
		p.ends = append(p.ends, end)
	}
	return end
}

// move is a thread's time to get the lock's line.
func (p *posts) move(thread uint32) float64 {
	from := p.last
	p.last = thread
	if from == noThread || from == thread {
		return 0
	}
	return p.moveNs
}
