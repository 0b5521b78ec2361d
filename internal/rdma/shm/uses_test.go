package shm

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestUsesRunsDownOnceAfterTheLast(t *testing.T) {
	var u uses
	downs := 0
	u.down = func() { downs++ }
	if !u.acquire() || !u.acquire() {
		t.Fatal("cannot acquire")
	}
	u.release()
	u.end()
	if u.acquire() {
		t.Error("acquired after end")
	}
	if downs != 0 {
		t.Error("down while in use")
	}
	u.release()
	if u.acquire() {
		t.Error("acquired after down")
	}
	if downs != 1 {
		t.Errorf("down %d times", downs)
	}
}

func TestUsesUnderLoad(t *testing.T) {
	for range 200 {
		var u uses
		var in, downs atomic.Int32
		u.down = func() {
			if in.Load() != 0 {
				t.Error("down while in use")
			}
			downs.Add(1)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 50 {
					if u.acquire() {
						in.Add(1)
						in.Add(-1)
						u.release()
					}
				}
			})
		}
		wg.Go(u.end)
		wg.Wait()
		if downs.Load() != 1 {
			t.Fatalf("down %d times", downs.Load())
		}
	}
}
