package node

import "sync"

// queue hands work to one goroutine, in order, without ever making the sender wait.
type queue[T any] struct {
	mu     sync.Mutex
	more   sync.Cond
	work   []T
	closed bool
}

func newQueue[T any]() *queue[T] {
	q := &queue[T]{}
	q.more.L = &q.mu
	return q
}

func (q *queue[T]) put(w T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.work = append(q.work, w)
		q.more.Signal()
	}
}

// take returns all work that waits, nil when the queue was closed and is empty. spare is the
// last result, whose memory it uses.
func (q *queue[T]) take(spare []T) []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.work) == 0 && !q.closed {
		q.more.Wait()
	}
	if len(q.work) == 0 {
		return nil
	}
	w := q.work
	clear(spare)
	q.work = spare[:0]
	return w
}

func (q *queue[T]) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.more.Broadcast()
}
