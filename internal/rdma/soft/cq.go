package soft

import (
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/internal/cqueue"
)

// completionQueue adds to the ring the effect of taking a completion on its
// queue pair.
type completionQueue struct {
	*cqueue.Queue
	dev *device
}

func newCQ(d *device, depth int) *completionQueue {
	return &completionQueue{Queue: cqueue.New(depth, d.opt.Spin), dev: d}
}

// Poll is described at rdma.CompletionQueue. Taking a receive returns its
// credit to the peer.
func (c *completionQueue) Poll(dst []rdma.Completion) int {
	k := c.Queue.Poll(dst)
	for i := range dst[:k] {
		q := dst[i].QP.(*queuePair)
		if dst[i].Op == rdma.OpRecv {
			q.polledRecv()
		} else {
			q.unpolled.Add(-1)
		}
	}
	return k
}

func (c *completionQueue) Close() error {
	c.Queue.Close()
	c.dev.removeCQ(c)
	return nil
}
