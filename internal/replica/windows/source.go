package windows

import (
	"context"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/replica/lane"
)

// Source is the side that has the store. One goroutine fills windows, another one calls Wait.
type Source struct {
	mem rdma.Region
	cq  rdma.CompletionQueue
	qp  rdma.QueuePair
}

// Accept takes a learner's request, whose hello was checked. The device is the request's.
func Accept(dev rdma.Device, req rdma.ConnRequest) (_ *Source, err error) {
	s := &Source{}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if s.cq, err = dev.CreateCQ(1); err == nil {
		s.mem, err = dev.Register(Count*Bytes, rdma.RemoteRead)
	}
	if err != nil {
		return nil, errors.Join(err, req.Reject(err.Error()))
	}
	w := lane.Welcome{Ack: s.mem.Remote()}
	s.qp, err = req.Accept(rdma.QPConfig{SendCQ: s.cq, RecvCQ: s.cq, SendDepth: 1, RecvDepth: 1}, w.Encode())
	return s, err
}

// Window is the memory of window i of Count. The caller changes none that is being read.
func (s *Source) Window(i int) []byte { return s.mem.Bytes()[i*Bytes:][:Bytes] }

// Wait returns when the queue pair has ended, or ctx. Some providers serve Reads from within
// it (libfabric's tcp).
func (s *Source) Wait(ctx context.Context) error {
	var done [1]rdma.Completion
	for {
		if err := s.cq.Wait(ctx, -1); err != nil {
			return err
		}
		if s.cq.Poll(done[:]) == 0 {
			continue
		}
		if err := done[0].Err(); err != nil {
			return err
		}
		return fmt.Errorf("%w: an event, which no learner causes", ErrPeer)
	}
}

// Close frees the windows. Wait has returned, and no window is in use.
func (s *Source) Close() { closeAll(s.qp, s.cq, s.mem) }

// closeAll closes what was made, in order: the queue pair before what it uses.
func closeAll(qp rdma.QueuePair, cq rdma.CompletionQueue, mem rdma.Region) {
	if qp != nil {
		_ = qp.Close()
	}
	if cq != nil {
		_ = cq.Close()
	}
	if mem != nil {
		_ = mem.Close()
	}
}
