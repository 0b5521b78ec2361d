package store

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestUsersCloseWaits: no call is inside when close returns, or enters later, however
// many calls come and go meanwhile.
func TestUsersCloseWaits(t *testing.T) {
	for range 200 {
		u := newUsers()
		var inside, after atomic.Int64
		var closed atomic.Bool
		var all sync.WaitGroup
		begin := make(chan struct{})
		for range 4 {
			all.Go(func() {
				<-begin
				for u.enter() {
					inside.Add(1)
					if closed.Load() {
						after.Add(1)
					}
					inside.Add(-1)
					u.leave()
				}
			})
		}
		close(begin)
		for range 2 {
			all.Go(func() {
				u.close()
				closed.Store(true)
				if n := inside.Load(); n != 0 {
					t.Errorf("%d are inside after close", n)
				}
			})
		}
		all.Wait()
		if after.Load() != 0 || u.enter() {
			t.Error("somebody came in after close")
		}
	}
}
