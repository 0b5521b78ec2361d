package rdmatest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

var queueCases = []testCase{
	{"OneQueueForBoth", caseOneQueueForBoth},
	{"ManyQueuePairs", caseManyQueuePairs},
	{"Fairness", caseFairness},
	{"QueueFull", caseQueueFull},
	{"ReceiverNotPolling", caseReceiverNotPolling},
	{"PostsStayTogether", casePostsStayTogether},
	{"LongBatch", caseLongBatch},
}

// caseOneQueueForBoth plays ping-pong over one queue per side, which receives
// both the completions of requests and the events.
func caseOneQueueForBoth(e *env) {
	c, s := e.host(4096), e.host(4096)
	c.recv, s.recv = c.send, s.send
	cq, sq := e.connect(e.listen(s.dev), c, s)
	const rounds = 500
	side := func(h *host, q rdma.QueuePair, first bool) error {
		sent, events := uint64(0), uint32(0)
		send := func() error {
			sent++
			_, err := q.Post([]rdma.WorkRequest{event(sent, uint32(sent))})
			return err
		}
		if first {
			if err := send(); err != nil {
				return err
			}
		}
		for done := uint64(0); done < rounds || events < rounds; {
			got, err := collect(h.send, 1, e.cfg.Patience)
			if err != nil {
				return err
			}
			g := got[0]
			switch {
			case g.Err() != nil:
				return g.Err()
			case g.Op == rdma.OpWriteImm:
				if done++; g.ID != done {
					return fmt.Errorf("completion %d is of request %d", done, g.ID)
				}
			case g.Op == rdma.OpRecv:
				if events++; g.Imm != events {
					return fmt.Errorf("event %d has imm %d", events, g.Imm)
				}
				if sent < rounds {
					if err := send(); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	var w workers
	w.run(func() error { return side(c, cq, true) })
	w.run(func() error { return side(s, sq, false) })
	e.join(&w)
}

// caseManyQueuePairs: 64 connections from 4 devices, all at once, on one
// queue at the target. Each keeps its order, none loses an event.
func caseManyQueuePairs(e *env) {
	const devices, perDevice, events = 4, 16, 60
	s := e.host(64 * devices * perDevice)
	l := e.listen(s.dev)
	next := map[rdma.QueuePair]uint32{}
	var w workers
	for d := range devices {
		c := e.host(64 * perDevice)
		for i := range perDevice {
			cq := e.queue(c.dev) // an initiator polls its own
			q, sq := e.connect(l, &host{c.dev, cq, cq, c.mem}, s)
			next[sq] = 0
			o := 64 * (d*perDevice + i)
			w.run(func() error {
				for k := range uint32(events) {
					wr := writeImm(uint64(k), k, c.mem, 64*i, s.mem, o, 1+int(k)%64)
					err := postAll(q, cq, []rdma.WorkRequest{wr}, e.cfg.Patience, nil)
					if err != nil {
						return fmt.Errorf("queue pair %d of device %d: %w", i, d, err)
					}
				}
				return nil
			})
		}
	}
	for n := range devices * perDevice * events {
		c := e.takeOK(s.recv, 1)[0]
		want, ok := next[c.QP]
		if !ok {
			e.Fatalf("event %d is of an unknown queue pair", n)
		}
		if c.Imm != want || c.Bytes != 1+want%64 {
			e.Fatalf("event %d of a queue pair: imm %d, %d bytes", want, c.Imm, c.Bytes)
		}
		next[c.QP]++
	}
	e.join(&w)
	e.silent(s.recv, s.send)
}

// caseFairness: eight queue pairs send as much as they may, and one more
// event for each of theirs that is polled. An event of a ninth must not wait
// for more than the queue's content.
func caseFairness(e *env) {
	const heavy, depth, rounds = 8, 32, 5
	// Twice, because providers may round depths up, and twice again, because
	// one that wraps another has a queue of its own in front of the other's.
	const limit = 4 * heavy * depth
	s := e.host(64)
	l := e.listen(s.dev)
	mod := func(c *rdma.QPConfig) { c.SendDepth, c.RecvDepth = 4*depth, depth }
	pending := 0
	refill := func(p *pair) { // until the queue is full
		var buf [8]rdma.Completion
		for _, c := range buf[:p.c.send.Poll(buf[:])] {
			e.must(c.Err())
		}
		n, err := p.cq.Post([]rdma.WorkRequest{event(0, 0), event(0, 0)})
		if pending += n; err != nil && !isFull(err) {
			e.Fatal(err)
		}
	}
	loads := map[rdma.QueuePair]*pair{}
	for range heavy {
		p := &pair{lis: l, c: e.host(64), s: s}
		p.cq, p.sq = e.connect(l, p.c, s, mod)
		loads[p.sq] = p
		for range 4 * depth {
			refill(p)
		}
	}
	c := e.host(64)
	q, light := e.connect(l, c, s, mod)
	for range rounds {
		e.post(q, event(1, 1))
		e.takeOK(c.send, 1) // its event is in the queue
		for overtaken := 0; ; overtaken++ {
			if overtaken > limit {
				e.Fatalf("an event waited while %d of others passed, limit %d", overtaken, limit)
			}
			c := e.takeOK(s.recv, 1)[0]
			if c.QP == light {
				break
			}
			pending--
			refill(loads[c.QP])
		}
	}
	e.takeOK(s.recv, pending)
}

// caseQueueFull posts without polling until the queue is full, then
// polls and posts the rest: nothing is lost, doubled or reordered.
func caseQueueFull(e *env) {
	const depth, total = 8, 3000
	p := e.pair(total*4, func(c *rdma.QPConfig) { c.SendDepth = depth })
	src := p.c.mem.Bytes()
	fill(src, 5)
	var wrs []rdma.WorkRequest
	for i := range total {
		wrs = append(wrs, write(uint64(i), p.c.mem, 4*i, p.s.mem, 4*i, 4))
	}
	n, err := p.cq.Post(wrs)
	if !isFull(err) {
		e.Fatalf("Post took %d of %d at depth %d: %v, want ErrQueueFull", n, total, depth, err)
	}
	if n < depth {
		e.Errorf("full after %d requests, depth is %d", n, depth)
	}
	if m, err := p.cq.Post(wrs[n:]); err == nil || m == total-n {
		e.Errorf("Post again without polling took %d of %d: %v", m, total-n, err)
	} else {
		n += m
	}
	next := 0
	count := func(c rdma.Completion) error {
		if c.ID != uint64(next) {
			return fmt.Errorf("completion of request %d, want %d", c.ID, next)
		}
		next++
		return nil
	}
	e.must(postAll(p.cq, p.c.send, wrs[n:], e.cfg.Patience, count))
	for _, c := range e.takeOK(p.c.send, total-next) {
		e.must(count(c))
	}
	e.fence(p)
	e.silent(p.c.send)
	if string(p.s.mem.Bytes()) != string(src) {
		e.Error("the target's memory differs from what was written")
	}
}

// caseReceiverNotPolling: events beyond the receiver's depth wait at the
// sender, which sees a full queue, and none is lost. The provider may accept
// requests until SendDepth are outstanding, or none that finds the receiver
// full; in either case a sender that waits on its send queue is woken when
// posting again may succeed.
func caseReceiverNotPolling(e *env) {
	const depth = 16
	// Providers may round up, keep credits in flight and buffer in the
	// kernel, but not without bound.
	const bound = 4096
	p := e.pair(64, func(c *rdma.QPConfig) { c.SendDepth, c.RecvDepth = depth, depth })
	taken, done := 0, 0
	for {
		n, err := p.cq.Post([]rdma.WorkRequest{event(uint64(taken), uint32(taken))})
		if taken += n; taken > bound {
			e.Fatalf("%d events sent to a receiver of depth %d that does not poll", taken, depth)
		}
		if err == nil {
			continue
		}
		if !isFull(err) {
			e.Fatal(err)
		}
		// No completion for this long: the sender is blocked by the receiver.
		// If it was merely slow the case is weaker, not wrong.
		cs, err := collect(p.c.send, 1, 50*time.Millisecond)
		if errors.Is(err, rdma.ErrTimeout) {
			break
		}
		e.must(err)
		e.must(cs[0].Err())
		done++
	}
	if taken < depth {
		e.Errorf("blocked after %d events, depth is %d", taken, depth)
	}
	const total = bound + 500
	var w workers
	w.run(func() error {
		var wrs []rdma.WorkRequest
		for i := taken; i < total; i++ {
			wrs = append(wrs, event(uint64(i), uint32(i)))
		}
		count := func(rdma.Completion) error { done++; return nil }
		if err := postAll(p.cq, p.c.send, wrs, e.cfg.Patience, count); err != nil {
			return err
		}
		_, err := collect(p.c.send, total-done, e.cfg.Patience)
		return err
	})
	for i := range total {
		if c := e.takeOK(p.s.recv, 1)[0]; c.Imm != uint32(i) {
			e.Fatalf("event %d has imm %d", i, c.Imm)
		}
	}
	e.join(&w)
	e.silent(p.c.send, p.s.recv)
}

// casePostsStayTogether: requests of one call are neighbours at the target,
// whatever other goroutines post.
func casePostsStayTogether(e *env) {
	const posters, group, rounds = 8, 5, 40
	p := e.pair(64)
	for round := range rounds {
		var w workers
		var begin sync.WaitGroup
		begin.Add(1)
		for g := range posters {
			w.run(func() error {
				begin.Wait()
				for k := range 2 {
					var wrs [group]rdma.WorkRequest
					for i := range wrs {
						wrs[i] = event(uint64(g), uint32(g<<16|k<<8|i))
					}
					if n, err := p.cq.Post(wrs[:]); err != nil {
						return fmt.Errorf("Post took %d: %w", n, err)
					}
				}
				return nil
			})
		}
		begin.Done()
		events := e.takeOK(p.s.recv, posters*group*2)
		e.takeOK(p.c.send, len(events))
		e.join(&w)
		var second [posters]uint32 // 1 once a poster's first call was seen
		for i := 0; i < len(events); i += group {
			g := events[i].Imm >> 16
			for k, c := range events[i : i+group] {
				if want := g<<16 | second[g]<<8 | uint32(k); c.Imm != want {
					e.Fatalf("round %d, event %d: imm %#x, want %#x: calls are mixed", round, i+k, c.Imm, want)
				}
			}
			second[g]++
		}
	}
}

// caseLongBatch posts a mix of kinds with one call, up to the depth.
func caseLongBatch(e *env) {
	p := e.pair(1 << 16)
	b := p.c.mem.Bytes()
	fill(b[:1<<15], 6)
	const n = rdma.DefaultDepth / 2
	var wrs []rdma.WorkRequest
	for i := range n { // each written, then read back
		o := i * 200
		wrs = append(wrs, write(uint64(2*i), p.c.mem, o, p.s.mem, o, 200),
			read(uint64(2*i+1), p.c.mem, 1<<15+o, p.s.mem, o, 200))
	}
	e.post(p.cq, wrs...)
	for i, c := range e.takeOK(p.c.send, 2*n) {
		if c.ID != uint64(i) {
			e.Fatalf("completion %d is of request %d", i, c.ID)
		}
	}
	if string(b[:n*200]) != string(b[1<<15:1<<15+n*200]) {
		e.Error("what was read differs from what was written")
	}
}
