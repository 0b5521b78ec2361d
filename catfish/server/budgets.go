package server

import (
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/hostmem"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
)

// budgets bound what clients hold over rings and sockets; limits.AnswersPart is of the
// table of all parts.
type budgets struct {
	// answers are bytes that wait for clients to take them: answers made in steps,
	// and bytes that do not fit into a ring or a socket. The bytes of values that
	// are put in parts count, too.
	answers *limits.Budget
	// rings are the bytes of connections' rings at this end.
	rings *limits.Budget
}

func newBudgets(memory int64) budgets {
	answers, rings := memory/limits.AnswersPart, memory/limits.RingsPart
	return budgets{
		// A source may take half, so that there is always room for a second.
		answers: limits.NewBudget("bytes of answers", answers, answers/2),
		// All clients may be of one host. Those with large rings give way first.
		rings: limits.NewBudget("bytes of rings", rings, rings),
	}
}

// budgetStats lists all budgets of the server.
func (s *Server) budgetStats() []model.BudgetStats {
	var l []model.BudgetStats
	for _, b := range []*limits.Budget{
		s.budgets.answers, s.budgets.rings, s.watchBudget,
		s.streams.silent, s.streams.conns, s.streams.unsent,
		s.shm.silent, s.shm.connections, s.shm.mapped,
	} {
		l = append(l, model.BudgetStats(b.Use()))
	}
	colls := s.clientColls.Use()
	colls.Limit = store.MaxCollections // the table's
	l = append(l, model.BudgetStats(colls))
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
func (s *Server) ShowBudgets(of func() []model.BudgetStats) {
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
