package catfish

import (
	"github.com/catfish-index/catfish/internal/hostmem"
	"github.com/catfish-index/catfish/internal/limits"
)

// What clients may hold of a server (docs/security.md). Package budget has the
// rule: a share for each host or process, a total for all, and the source that holds
// most makes room. The totals are parts of ServerOptions.MemoryLimit:
//
//	answers that wait, over rings and plain sockets,
//	and values of records that are put in parts        1/9
//	frames of soft that wait                           1/32
//	calls of gRPC, requests and tiles of HTTP (command catfish) 1/18
//	uploads over gRPC (command catfish)                1/8
//	connections of the TCP port at rest                1/12   96 KiB each
//	connections of shm at rest                         1/11  112 KiB each
//	                                            sum    0.50
//	rings, if their clients fill them                  1/2   576 KiB each,
//	                                                         832 KiB with policy fetch
//
// So half of the limit is left to trees, whatever clients hold. A ring takes the
// memory that was written to it, which for honest clients at rest is almost nothing: so
// rings and trees share that half. As rings may be filled at any time, the guard
// (memory.go) stops trees from growing while the rings could not be filled: with the
// default limit of 3/4 of the host, the host has only a third more than the limit.
//
// With 16 GiB the limit is 12 GiB: 10,922 clients with default rings, 10,213 of
// them over shm, 10,922 connections of the port. With 4 GiB the share of one
// source is the largest answer, 168 MB.
type budgets struct {
	// answers are bytes that wait for clients to take them: answers made in steps,
	// and bytes that do not fit into a ring or a socket. The bytes of values that
	// are put in parts count, too.
	answers *limits.Budget
	// rings are the bytes of connections' rings at this end.
	rings *limits.Budget
}

const (
	answersPart = 9
	unsentPart  = 32
	streamsPart = 12
	shmPart     = 11
	ringsPart   = 2
)

func newBudgets(memory int64) budgets {
	answers, rings := memory/answersPart, memory/ringsPart
	return budgets{
		// A source may take half, so that there is always room for a second.
		answers: limits.NewBudget("bytes of answers", answers, answers/2),
		// All clients may be of one host. Those with large rings give way first.
		rings: limits.NewBudget("bytes of rings", rings, rings),
	}
}

// BudgetStats is one resource of a server: how much of it all clients hold, and the
// limits.
type BudgetStats struct {
	Name    string `json:"name"` // what is counted
	Used    int64  `json:"used"`
	Limit   int64  `json:"limit"`
	Share   int64  `json:"share"`   // limit of one host or process
	Sources int    `json:"sources"` // hosts or processes that are connected
	Refused uint64 `json:"refused"` // requests for more
	Cut     uint64 `json:"cut"`     // connections ended to make room
}

// budgetStats lists all budgets of the server.
func (s *Server) budgetStats() []BudgetStats {
	var l []BudgetStats
	for _, b := range []*limits.Budget{
		s.budgets.answers, s.budgets.rings, s.watchBudget,
		s.streams.silent, s.streams.conns, s.streams.unsent,
		s.shm.silent, s.shm.connections, s.shm.mapped,
	} {
		l = append(l, BudgetStats(b.Use()))
	}
	colls := s.clientColls.Use()
	colls.Limit = maxCollections // the table's
	l = append(l, BudgetStats(colls))
	s.mu.Lock()
	others := s.otherBudgets
	s.mu.Unlock()
	for _, of := range others {
		l = append(l, of()...)
	}
	return l
}

// ShowBudgets adds the budgets of another service of this process, such as gRPC, to
// Stats.
func (s *Server) ShowBudgets(of func() []BudgetStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.otherBudgets = append(s.otherBudgets, of)
}

// minMemoryLimit is room for a small tree and a few connections.
const minMemoryLimit = 64 << 20

// DefaultMemoryLimit is three quarters of the memory that this process may
// use, that of its control group or of the host; 2 GiB where that is not known.
func DefaultMemoryLimit() int64 {
	total, known := hostmem.Limit()
	if !known {
		return unknownMemory
	}
	return total / 4 * 3
}

// unknownMemory is the limit on systems that do not report their memory.
const unknownMemory = 2 << 30
