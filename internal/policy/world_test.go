package policy

import (
	"container/heap"
	"time"
)

// world is a closed loop of callers whose clients choose between two paths
// over three queues, each first come first served:
//
//	fast     client's core (core[0]) --> server (serve)
//	offload  client's core (core[1]) --> link (link)
//
// A queue with a time of 0 delays no caller.
type world struct {
	core        [2]time.Duration
	serve, link time.Duration
	idle        [2]time.Duration // latency without queues
	think       time.Duration
	cold        time.Duration // extra, to offload after fast messaging on the core
	beats       bool
	make        func(*Group) Policy // nil: policy cost

	group   *Group // of all clients, nil: each is a process of its own
	clients []*worldClient
	last    Path // on the core
	calls   callHeap
	at      time.Duration
	free    [3]time.Duration // core, server, link
	busy    time.Duration
	seq     uint64
	beat    time.Duration
	done    [2]int
}

type worldClient struct {
	box
	policy Policy
	engine *Engine
}

type worldCall struct {
	at     time.Duration // it comes back, or begins
	began  time.Time
	client int
	path   Path
	fresh  bool // begins
}

type callHeap []worldCall

func (h callHeap) Len() int           { return len(h) }
func (h callHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h callHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *callHeap) Push(x any)        { *h = append(*h, x.(worldCall)) }
func (h *callHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func newWorld(clients, calls int) *world {
	w := &world{beats: true, idle: [2]time.Duration{10 * us, 10 * us}}
	w.add(clients, calls)
	return w
}

// add lets clients join.
func (w *world) add(clients, calls int) {
	for range clients {
		g := w.group
		if g == nil {
			g = NewGroup()
		}
		c := &worldClient{}
		if w.make != nil {
			c.policy = w.make(g)
		} else {
			c.policy = g.policy("cost", func() Policy { return newCost() })
		}
		c.engine = NewEngine(c.policy, uint64(len(w.clients)), w.clock, g)
		w.clients = append(w.clients, c)
		for i := range calls {
			w.calls = append(w.calls, worldCall{
				at: w.at + time.Duration(len(w.calls)+i)*us, client: len(w.clients) - 1, fresh: true,
			})
		}
	}
	heap.Init(&w.calls)
}

func (w *world) through(station int, at, takes time.Duration) time.Duration {
	if takes == 0 {
		return at
	}
	w.free[station] = max(w.free[station], at) + takes
	return w.free[station]
}

func (w *world) clock() time.Time { return time.Unix(1000, 0).Add(w.at) }

// run simulates the time d and returns finished searches per second and
// the share that was offloaded.
func (w *world) run(d time.Duration) (perSecond, share float64) {
	w.done = [2]int{}
	end := w.at + d
	for w.calls[0].at < end {
		c := &w.calls[0]
		w.at = c.at
		cl := w.clients[c.client]
		if !c.fresh {
			cl.engine.Done(c.began, Outcome{Path: c.path, Searches: 1, Results: 1}, c.path)
			w.done[c.path]++
			if w.think > 0 {
				c.fresh, c.at = true, w.at+w.think
				heap.Fix(&w.calls, 0)
				continue
			}
		}
		if w.beats && w.at-w.beat >= 10*time.Millisecond {
			w.heartbeat()
		}
		c.path, c.began = cl.engine.Choose(cl, cl)
		c.fresh = false
		core := w.core[c.path]
		if c.path == Offload && w.last != Offload {
			core += w.cold
		}
		w.last = c.path
		at := w.through(0, w.at, core)
		if c.path == Offload {
			at = w.through(2, at, w.link)
		} else {
			at = w.through(1, at, w.serve)
			w.busy += w.serve
		}
		c.at = at + w.idle[c.path]
		heap.Fix(&w.calls, 0)
	}
	w.at = end
	n := w.done[0] + w.done[1]
	return float64(n) / d.Seconds(), float64(w.done[Offload]) / float64(max(n, 1))
}

// heartbeat goes to all clients.
func (w *world) heartbeat() {
	w.seq++
	l := Load{Seq: w.seq, CPU: min(float64(w.busy)/float64(w.at-w.beat), 1), Interval: 10 * time.Millisecond}
	if w.serve > 0 && w.free[1] > w.at {
		l.Waiting = uint64((w.free[1] - w.at) / w.serve)
	}
	w.beat, w.busy = w.at, 0
	for _, c := range w.clients {
		c.put(l)
	}
}

const us = time.Microsecond
