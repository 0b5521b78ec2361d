package fastmsg

import (
	"encoding/binary"
	"errors"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/fetch"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/spin"
)

// The client that fetches its answers (answerring.go, leave.go)
//
// The goroutine that has the lead reads the server's ring from the first
// missing line, with one Read in flight at a time, as long as a call waits:
//
//	       a call's request is sent: its completion
//	idle --------------------------------------------> reading --+
//	 ^                                                    ^      | lines came, or none
//	 | no call waits                                      +------+
//	 +----------------------------------------------------/
//
// So the first Read leaves when the request has arrived at the server, one round trip
// after the call, and brings an answer that took less than that to compute: two round
// trips, and the server posts nothing. Each further one leaves when the last one is back.
//
// # How much is read
//
// As much as lately came at once (fetch.Size), or always the same if the owner says
// how much. If an answer is longer, its first line says so, and the next Read brings
// the rest.
//
// # When answers are late
//
// Reads that find nothing cost the server's card, and keep this side awake. So
// the client asks the server to write the answers that it waits for
//
//   - over devices that do all work in Post: when it would go to sleep, which is after
//     spinning for as long as a wake-up costs (package spin);
//   - over others, and if the owner gave a number: when that many Reads in a row, or
//     fetch.Retries, have found nothing.
//
// What follows, and whether the client fetches at all, package fetch decides.
type fetcher struct {
	region rdma.Region // where lines land; twice as large, where they may be torn
	lands  int         // number of lines in region
	twice  bool
	sync   bool // SynchronousOps
	spin   spin.Spinner
	look   func() bool

	from  rdma.Remote // the ring of answers
	lines uint64      // number of lines in from

	// Owned by the goroutine that leads:
	on       atomic.Bool // others may load it
	wanted   bool        // waits for the server to say where it leaves answers
	reading  bool
	hungry   atomic.Bool  // on, and not reading
	say      uint32       // immediate to be posted
	given    atomic.Int32 // abandoned calls whose answers have not come
	wrs      [2]rdma.WorkRequest
	next     uint64     // the first missing line
	returned uint64     // lines that the server knows to be fetched
	asked    int        // lines of the Read in flight
	size     fetch.Size // in lines
	tries    fetch.Tries

	ways  fetch.Ways
	msg   Message // being fetched
	need  int     // bytes of it that are missing
	start uint64  // its first line

	counts *fetch.Counts
}

const (
	// MaxFetchBytes is the largest Read of answers.
	MaxFetchBytes = landLines * lineBytes
	// MaxFetchRetries is a limit against typing errors.
	MaxFetchRetries = 1 << 20
	// fetchLines is how many lines are read at first.
	fetchLines = fetch.FirstBytes / lineBytes
	// landLines bounds a Read: 16 KiB take a card of 100 Gbit/s 1.3 us.
	landLines = 256
	// fetchSends is how many more requests such a client has outstanding than
	// others: Reads, and its immediates.
	fetchSends = 2 + maxReturns
	unitsBits  = 31
)

// callerDepth is the number of requests that a Caller can have outstanding. The size of
// the server's ring is not known before there is a queue pair, so it is the
// number for the largest ring.
func callerDepth(fetch bool) int {
	if fetch {
		return sendDepth(MaxRingBytes) + fetchSends
	}
	return sendDepth(MaxRingBytes)
}

func newFetcher(dev rdma.Device, cfg CallerConfig) (*fetcher, error) {
	counts := cfg.FetchCounts
	if counts == nil {
		counts = new(fetch.Counts)
	}
	info := dev.Info()
	f := &fetcher{counts: counts, twice: info.TornLines, sync: info.SynchronousOps, lands: landLines, wanted: true,
		size: fetch.NewSize(fetchLines, landLines), ways: fetch.NewWays(counts), tries: fetch.Tries{Limit: cfg.FetchRetries}}
	f.ways.Always = cfg.FetchAlways
	if cfg.clock != nil {
		f.ways.Clock = cfg.clock
	}
	if cfg.FetchBytes > 0 {
		f.size = fetch.FixedSize((cfg.FetchBytes+lineBytes-1)/lineBytes, landLines)
	}
	if f.tries.Limit == 0 && !f.sync {
		f.tries.Limit = fetch.Retries
	}
	bytes := landLines * lineBytes
	if f.twice {
		bytes *= 2
	}
	var err error
	if f.region, err = dev.Register(bytes, rdma.LocalWrite); err != nil {
		return nil, err
	}
	return f, nil
}

// Fetching reports whether the Caller fetches its answers at present.
func (c *Caller) Fetching() bool { return c.fetch != nil && c.fetch.on.Load() }

// foundWhere handles the server's message that says where answers lie.
func (c *Caller) foundWhere(b []byte) error {
	f := c.fetch
	if f.on.Load() || !f.wanted || len(b) != whereBytes {
		return protocolError("where answers lie, in %d bytes, want %d when asked", len(b), whereBytes)
	}
	lines := uint64(binary.LittleEndian.Uint32(b[16:]))
	if lines != c.in.size/lineBytes {
		return protocolError("%d lines for answers, want %d", lines, c.in.size/lineBytes)
	}
	f.from = rdma.Remote{
		Key:  rdma.Key(binary.LittleEndian.Uint64(b)),
		Addr: binary.LittleEndian.Uint64(b[8:]),
	}
	start := binary.LittleEndian.Uint64(b[20:])
	if start-f.next > lines {
		return protocolError("answers from line %d on, want %d to %d", start, f.next, f.next+lines)
	}
	f.lines, f.next, f.returned = lines, start, start
	f.wanted = false
	f.tries.Found()
	f.on.Store(true)
	f.hungry.Store(true)
	return nil
}

// stopFetching asks the server to write answers, from the first one that is not complete
// here.
func (c *Caller) stopFetching() {
	f := c.fetch
	if !f.on.Load() || f.reading {
		return
	}
	f.on.Store(false)
	f.hungry.Store(false)
	f.next = f.whole()
	f.need, f.returned = 0, f.next
	f.say = sayWrite | uint32(f.next)&positionMask
	f.counts.Changes.Add(1)
}

// whole is the line up to which all messages are complete here.
func (f *fetcher) whole() uint64 {
	if f.need > 0 {
		return f.start
	}
	return f.next
}

// noteAnswer notes an answer, its size, and the time when its call began.
func (c *Caller) noteAnswer(began time.Duration, bytes int) {
	f := c.fetch
	if f.ways.Back(f.on.Load(), f.say != 0, began) {
		f.wanted, f.say = true, sayLeave
	}
	f.ways.Ended(began, bytes, int(c.lead.open.Load()))
}

// changeWay changes the way of answers if that was decided, and as soon as that is
// possible: not while a Read is in flight, nor before the server has applied the last
// change.
func (c *Caller) changeWay() {
	f := c.fetch
	if !f.ways.Changes() || f.reading || f.wanted || f.say != 0 {
		return
	}
	switch f.ways.Next(f.on.Load()) {
	case fetch.Write:
		c.stopFetching()
	case fetch.Fetch: // changed when the server has said where answers lie
		f.wanted, f.say = true, sayLeave
	}
}

// tooLate asks the server to write the late answers, and those that come soon.
func (c *Caller) tooLate() {
	f := c.fetch
	if f.on.Load() && !f.reading {
		c.stopFetching()
		f.ways.Late()
	}
}

// say posts the immediate f.say, unless the queue is full.
func (c *Caller) say() error {
	f := c.fetch
	c.credit[0] = rdma.WorkRequest{Op: rdma.OpWriteImm, Unsignaled: true, Imm: f.say}
	switch _, err := c.qp.Post(c.credit[:]); {
	case err == nil:
		f.say = 0
	case !errors.Is(err, rdma.ErrQueueFull):
		return err
	}
	return nil
}

// waits reports whether an answer is to come. Answers to abandoned calls hold slots, too.
func (c *Caller) waits() bool { return c.lead.open.Load() != 0 || c.fetch.given.Load() != 0 }

// fetchOrChange is what the Caller's goroutine does before it sleeps: it
// fetches, or asks the server to write answers from now on. It reports whether
// to poll in place of sleeping, or else for how long to sleep.
func (c *Caller) fetchOrChange() (timeout time.Duration, poll bool) {
	f := c.fetch
	switch {
	case !f.on.Load() || f.reading || !c.waits():
		return -1, false
	case f.tries.Late():
		c.tooLate()
		return 0, true
	case f.sync:
		if !f.spin.Spin(f.look) {
			c.tooLate()
		}
		return 0, true
	case c.postFetch():
		return -1, false // its completion ends the sleep
	}
	return stallRetry, false
}

// lookForAnswers is lookOnce for the Caller's goroutine. It reports whether an
// answer came, or the spinning must end for another reason.
func (c *Caller) lookForAnswers() bool {
	f := c.fetch
	n := c.cq.Poll(c.comps)
	if n == 0 && c.postFetch() {
		n = c.cq.Poll(c.comps)
	}
	if n == 0 {
		return true
	}
	if err := c.turn(c.comps[:n]); err != nil {
		c.fail(err)
	}
	return !f.tries.InVain() || f.tries.Late() || f.say != 0 || !c.waits() || c.lost.Load()
}
