package limits

import (
	"context"
	"errors"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestJobsRunInOrder(t *testing.T) {
	q := NewSlots(2)
	var order []int
	var all []*Slot
	for i := range 6 {
		turn, now := q.Join("a", func() { order = append(order, i) })
		if now != (i < 2) {
			t.Fatalf("job %d runs at once: %t", i, now)
		}
		all = append(all, turn)
	}
	all[3].Leave() // it never got a slot
	all[0].Leave()
	all[0].Leave()
	all[1].Leave()
	all[2].Leave()
	if want := []int{2, 4, 5}; !slices.Equal(order, want) {
		t.Fatalf("granted to %v, want %v", order, want)
	}
	all[4].Leave()
	all[5].Leave()
	for range 2 {
		if _, now := q.Join("a", nil); !now {
			t.Fatal("a place was lost")
		}
	}
	if _, now := q.Join("a", nil); now {
		t.Fatal("a place too many")
	}
}

func TestQuantum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewSlots(1)
		turn, _ := q.Join("a", nil)
		time.Sleep(time.Hour) // until its first step
		if turn.Over() {
			t.Error("over before the first step")
		}
		time.Sleep(Quantum - 1)
		if turn.Over() {
			t.Error("over too early")
		}
		time.Sleep(time.Nanosecond)
		if !turn.Over() {
			t.Error("not over after a quantum")
		}
	})
}

// A source with many jobs delays its own jobs, not those of another.
func TestSourcesAlternate(t *testing.T) {
	q := NewSlots(1)
	var order []string
	var all []*Slot
	add := func(from string) {
		turn, _ := q.Join(from, func() { order = append(order, from) })
		all = append(all, turn)
	}
	for range 5 {
		add("many")
	}
	add("one")
	add("two")
	add("gone")
	all[7].Leave()
	for _, i := range []int{0, 1, 5, 6, 2, 3, 4} {
		all[i].Leave()
	}
	want := []string{"many", "one", "two", "many", "many", "many"}
	if !slices.Equal(order, want) {
		t.Fatalf("turns of %v, want %v", order, want)
	}
	if q.free != 1 || len(q.by) != 0 || len(q.line) != 0 {
		t.Fatalf("%d free, %d sources wait", q.free, len(q.by))
	}
}

func TestRun(t *testing.T) {
	q := NewSlots(2)
	var at, most atomic.Int32
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 50 {
				err := q.RunStep(t.Context(), "a", func() {
					n := at.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					at.Add(-1)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if most.Load() > 2 {
		t.Fatalf("%d ran at a time", most.Load())
	}
}

// TestRunStepInOrder: no more steps than allowed run at a time, the first to ask
// is first, and one that gets no slot gets the reason.
func TestRunStepInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewSlots(1)
		busy := make(chan struct{})
		var order []int
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := turns.RunStep(t.Context(), "a", func() { <-busy }); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		gone, leave := context.WithCancelCause(t.Context())
		why := errors.New("gone")
		wg.Go(func() {
			if err := turns.RunStep(gone, "a", func() { t.Error("a turn after the end") }); !errors.Is(err, why) {
				t.Error(err)
			}
		})
		for i := range 5 {
			synctest.Wait()
			wg.Go(func() {
				if err := turns.RunStep(t.Context(), "a", func() { order = append(order, i) }); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		leave(why)
		synctest.Wait()
		close(busy)
		wg.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3, 4}) || turns.free != 1 {
			t.Errorf("order %v, %d free", order, turns.free)
		}
	})
}

// Jobs that hand over to each other all the time leave moments in which Go looks
// at sockets, on one processor. Most bytes are read soon, not all: a thread that
// already waits for sockets may itself wait for a busy machine.
func TestSocketsAreLookedAt(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var got atomic.Int64
	go func() {
		for buf := make([]byte, 1); ; got.Add(1) {
			if _, err := b.Read(buf); err != nil {
				return
			}
		}
	}()
	q := NewSlots(1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var steps atomic.Int64
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			_ = q.RunStep(ctx, "other", func() { steps.Add(1) })
		}
	})
	late := 0
	for i := int64(1); i <= 100; i++ {
		begun := steps.Load()
		if _, err := a.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		for got.Load() < i {
			if err := q.RunStep(ctx, "this", func() {}); err != nil {
				t.Fatal(err)
			}
		}
		if n := steps.Load() - begun; n > 200 {
			t.Logf("byte %d was read after %d steps", i, n)
			late++
		}
	}
	cancel()
	group.Wait()
	if late > 50 {
		t.Errorf("%d of 100 bytes were read late", late)
	}
}

// TestJob: a job keeps its slot for a quantum, then lets others go first; one
// that rests has none.
func TestJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewSlots(1)
		ctx, cancel := context.WithCancelCause(t.Context())
		a, b := q.Job(ctx, "a"), q.Job(ctx, "b")
		var order []string
		pause := func(name string, j *Job) {
			if err := j.Pause(); err != nil {
				t.Error(name, err)
			}
			order = append(order, name)
		}
		pause("a", a)
		go pause("b", b)
		synctest.Wait()
		time.Sleep(Quantum - 1)
		pause("a", a)
		time.Sleep(time.Nanosecond)
		if !slices.Equal(order, []string{"a", "a"}) {
			t.Errorf("within a quantum %v went on", order)
		}
		go pause("a", a) // Its slot ends, and b's begins.
		synctest.Wait()
		if !slices.Equal(order, []string{"a", "a", "b"}) {
			t.Errorf("after a quantum %v went on", order)
		}
		b.End()
		b.End()
		synctest.Wait()
		if !slices.Equal(order, []string{"a", "a", "b", "a"}) {
			t.Errorf("when b rests %v went on", order)
		}
		why := errors.New("enough")
		go func() {
			if err := b.Pause(); !errors.Is(err, why) {
				t.Error(err)
			}
			b.End()
		}()
		synctest.Wait()
		cancel(why)
		synctest.Wait()
		if err := a.Pause(); !errors.Is(err, why) {
			t.Error(err)
		}
		a.End()
		if q.free != 1 || len(q.line) != 0 {
			t.Errorf("%d free, %d wait", q.free, len(q.line))
		}
	})
}

// TestPacer: each Pause begins a step with a slot, and so does Tick when the
// previous step, also the first one without a slot, has taken a tenth of a Quantum.
func TestPacer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewSlots(1)
		other, _ := q.Join("other", nil)
		p := &Pacer{Of: q, Ctx: t.Context(), Source: "this"}
		tick := func() {
			t.Helper()
			if err := p.Tick(); err != nil {
				t.Error(err)
			}
		}
		tick()
		time.Sleep(Quantum/10 - 1)
		tick()
		time.Sleep(time.Nanosecond)
		go func() { // It had no slot so far, and waits for one now.
			time.Sleep(time.Hour)
			other.Leave()
		}()
		begun := time.Now()
		tick()
		if waited := time.Since(begun); waited != time.Hour {
			t.Errorf("it waited %v for its turn", waited)
		}
		other, now := q.Join("other", nil)
		if now {
			t.Error("it has no turn")
		}
		other.Leave()
		time.Sleep(Quantum/10 - 1)
		tick()
		granted := false
		other, _ = q.Join("other", func() { granted = true })
		if granted {
			t.Error("its turn was over too early")
		}
		time.Sleep(time.Nanosecond)
		go func() {
			synctest.Wait()
			if !granted {
				t.Error("its turn is not over")
			}
			other.Leave()
		}()
		tick()
		p.End()
		p.End()
		synctest.Wait()
		if q.free != 1 || len(q.line) != 0 {
			t.Errorf("%d free, %d wait", q.free, len(q.line))
		}
		if err := p.Pause(); err != nil || q.free != 0 {
			t.Errorf("%v, %d free", err, q.free)
		}
		p.End()
		synctest.Wait()
	})
}
