package server

import (
	"errors"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
)

// Memory is given back after clients have made the server keep much in Go's heap:
// answers, frames that soft has not sent yet, and bytes that other services report.
func TestHeldBytes(t *testing.T) {
	s := startServer(t, Options{})
	s.ShowBudgets(func() []model.BudgetStats {
		return []model.BudgetStats{{Name: "bytes of uploads", Used: 100}, {Name: "connections", Used: 7}}
	})
	answers, unsent := s.budgets.answers.Open("a", nil), s.streams.unsent.Open("a", nil)
	defer answers.Close()
	defer unsent.Close()
	if err := errors.Join(answers.Take(1000), unsent.Take(10)); err != nil {
		t.Fatal(err)
	}
	if n := s.heldBytes(); n != 1110 {
		t.Errorf("%d bytes are held, want 1110", n)
	}
}

// The collector is due once when something large was freed some time ago, and
// not while large answers come all the time.
func TestCollector(t *testing.T) {
	const large = 2 * keepAnswers
	quiet := int(collectAfter / memoryTick)
	var c collector
	dues := func(used int64, ticks int) (n int) {
		for range ticks {
			if c.due(used) {
				n++
			}
		}
		return n
	}
	if n := dues(0, 10*quiet); n != 0 {
		t.Errorf("due %d times at rest", n)
	}
	for range 10 {
		if n := dues(large, 1) + dues(0, quiet-1); n != 0 {
			t.Errorf("due %d times beside large answers", n)
		}
	}
	if n := dues(0, 10*quiet); n != 1 {
		t.Errorf("due %d times after large answers", n)
	}
}
