package sim

// posts models the contention of one host's threads that start operations on
// its card.
//
// A thread that posts takes the lock of the card's doorbell, and the card
// takes the operation before the next thread may post. Threads that wait for
// the lock poll its line all the time, so that handing it over takes longer
// the more of them wait:
//
//	thread 1   ..post|------ out ------|..............
//	thread 2     post|  looks, looks   |-- out + wait --|....
//	thread 3       post|  looks, looks                  |-- out + wait --|
//
// A thread that finds the lock free, but last used by another thread, first
// fetches the line from that thread's cache (moveNs). Fitted to table I of
// RFP, for writes of 32 bytes: see clusters/connectx3.toml.
type posts struct {
	waitNs, moveNs float64
	most           int       // threads that can wait at once
	ends           []float64 // of operations that have not ended, from first on
	first          int
	last           uint32 // the thread that posted last
}

// noThread posted yet.
const noThread = ^uint32(0)

// waits is the delay of an operation that begins at now. The operations that
// it finds waiting stand for those that wait while the lock is handed over to
// it: in a closed loop their numbers are equal. The operation that the card
// processes does not wait.
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

// note records and returns the end of an operation.
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
