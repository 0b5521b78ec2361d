package server

import (
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/rstar"
)

// checks makes one check of a tree at a time, and not too often: a check reads
// every node, and blocks all writes meanwhile.
type checks struct {
	busy chan struct{} // holds a token while a check runs
	next time.Time     // guarded by the token
}

// checkPause is by how much the pause after a check is longer than the check: writers
// get ten elevenths of the time.
const checkPause = 10

func newChecks() checks { return checks{busy: make(chan struct{}, 1)} }

func (c *checks) run(t *rstar.Tree) error {
	select {
	case c.busy <- struct{}{}:
	default:
		return fmt.Errorf("%w: another check runs", model.ErrBusy)
	}
	defer func() { <-c.busy }()
	from := time.Now()
	if wait := c.next.Sub(from); wait > 0 {
		return fmt.Errorf("%w: the next check may begin in %v", model.ErrBusy, wait.Round(time.Millisecond))
	}
	err := t.Check()
	to := time.Now()
	c.next = to.Add(checkPause * to.Sub(from))
	return err
}
