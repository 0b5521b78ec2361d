package server

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"time"

	"github.com/shirou/gopsutil/v3/process"

	"github.com/catfish-index/catfish/catfish/model"
)

// The memory of the process
//
// Budgets bound what clients hold. The memory limit bounds what the server keeps for
// clients, such as objects in trees: the guard looks at the resident memory of the
// process, all of it, memoryTick apart. While that is above the limit, requests that
// need more are refused: writes, collections, connections, and answers of more than
// limits.FullAnswer. They are also refused while the rings of all connections, if their clients
// filled them, would lead a third beyond the limit, which with the default limit is all
// that the host has. A tree takes 50 bytes an object, so a million inserts in a
// second exceed the limit by 5 MB.
//
// After large answers or uploads the guard collects the garbage and gives the memory
// back: an idle process would keep it until the next collection, two minutes later.

const (
	memoryTick = 100 * time.Millisecond
	// keepAnswers is how much memory of sent answers may stay with Go's heap,
	// and collectAfter how long it must have been unused before it is given back:
	// a server that makes large answers all the time needs it again.
	keepAnswers  = 64 << 20
	collectAfter = time.Second
)

// memory is the guard's state.
type memory struct {
	resident atomic.Int64
	rings    atomic.Int64 // of all connections at that time, written to or not
	full     atomic.Bool
}

func (m *memory) stats(limit int64) model.MemoryStats {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return model.MemoryStats{
		Resident: m.resident.Load(), Limit: limit, Full: m.full.Load(), Goroutines: runtime.NumGoroutine(), Live: int64(live[0].Value.Uint64()),
	}
}

// check refuses requests that need memory while there is none.
func (m *memory) check(limit int64) error {
	if m.full.Load() {
		return fmt.Errorf("%w: it holds %d bytes in memory, and %d more if all rings are filled, limit %d (--memory-limit)",
			model.ErrBusy, m.resident.Load(), m.rings.Load(), limit)
	}
	return nil
}

// CheckMemory is nil, or an error that wraps ErrBusy while the process holds more
// memory than the limit: writes, collections and connections are refused. It is
// for other services of the process, such as gRPC, may be called by any
// goroutine, and costs little enough to be called for each write.
func (s *Server) CheckMemory() error { return s.memory.check(s.opts.MemoryLimit) }

// guardMemory runs until ctx is done.
func (s *Server) guardMemory(ctx context.Context) error {
	read := s.opts.hooks.Resident
	if read == nil {
		p, err := process.NewProcess(int32(os.Getpid()))
		if err != nil {
			return fmt.Errorf("catfish: memory of this process: %w", err)
		}
		read = func(ctx context.Context) (int64, error) {
			m, err := p.MemoryInfoWithContext(ctx)
			if err != nil {
				return 0, err
			}
			return int64(m.RSS), nil
		}
	}
	tick := time.NewTicker(memoryTick)
	defer tick.Stop()
	var idle collector
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		resident, err := read(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("catfish: memory of this process: %w", err)
		}
		s.observe(resident)
		if idle.due(s.heldBytes()) {
			s.collect(resident)
		}
	}
}

// collect gives unused memory back. Go does that in the background, about 10 s
// for a GiB. Where memory is short it is done at once, which blocks a processor
// for up to 70 ms a GiB, and with it all clients of a server that has only one.
func (s *Server) collect(resident int64) {
	// The first collection empties pools of their content, the second one
	// frees it.
	runtime.GC()
	runtime.GC()
	if resident > s.opts.MemoryLimit/2 {
		debug.FreeOSMemory()
	}
}

// heldBytes is what clients hold of Go's heap: answers, the frames that soft has not
// sent yet, and calls and uploads of other services.
func (s *Server) heldBytes() int64 {
	n := s.budgets.answers.Use().Used + s.streams.unsent.Use().Used
	s.mu.Lock()
	others := s.otherBudgets
	s.mu.Unlock()
	for _, of := range others {
		for _, u := range of() {
			if strings.HasPrefix(u.Name, "bytes") {
				n += u.Used
			}
		}
	}
	return n
}

// observe takes the present resident memory.
func (s *Server) observe(resident int64) {
	rings, limit := s.budgets.rings.Use().Used, s.opts.MemoryLimit
	s.memory.resident.Store(resident)
	s.memory.rings.Store(rings)
	full := resident > limit || resident+rings > limit+limit/3
	if s.memory.full.Swap(full) == full {
		return
	}
	if full {
		s.log.Warn("memory limit exceeded: writes and connections over rings are refused",
			"resident", resident, "rings", rings, "limit", limit)
	} else {
		s.log.Info("memory below the limit again", "resident", resident, "rings", rings, "limit", limit)
	}
}

// collector decides when unused memory of answers is given back.
type collector struct {
	most  int64 // most bytes of answers since the last time
	quiet int   // ticks since answers held about that many
}

// due is called each tick with the number of bytes that answers hold.
func (c *collector) due(used int64) bool {
	if used >= c.most-keepAnswers {
		c.most, c.quiet = max(c.most, used), 0
		return false
	}
	if c.quiet++; c.quiet < int(collectAfter/memoryTick) {
		return false
	}
	c.most, c.quiet = used, 0
	return true
}
