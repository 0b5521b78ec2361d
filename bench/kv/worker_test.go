package kv

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// maps is a Store that is a map.
type maps struct {
	mu     sync.Mutex
	values map[ycsb.Key][]byte
	puts   int
}

func (m *maps) Get(_ context.Context, key, dst []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.values[ycsb.Key(key)]
	if !ok {
		return dst, ErrNotFound
	}
	return append(dst, v...), nil
}

func (m *maps) Put(_ context.Context, key, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := ycsb.Key(key)
	m.values[k] = append(m.values[k][:0], value...)
	m.puts++
	return nil
}

func (m *maps) GetMany(ctx context.Context, rs []Request) error { return m.Do(ctx, rs) }
func (m *maps) Do(ctx context.Context, rs []Request) (err error) {
	for i := range rs {
		r := &rs[i]
		if r.Put {
			_ = m.Put(ctx, r.Key[:], r.Value)
			continue
		}
		r.Value, err = m.Get(ctx, r.Key[:], r.Value[:0])
		r.Found = err == nil
	}
	return nil
}

func (m *maps) Delete(context.Context, []byte) error { return nil }
func (m *maps) Counters() Counters                   { return Counters{} }
func (m *maps) Info() bench.Info                     { return bench.Info{} }
func (m *maps) Close() error                         { return nil }

func testWorker(t *testing.T, mix string, together int) (*maps, *worker) {
	t.Helper()
	w, err := Workload(mix, "")
	if err != nil {
		t.Fatal(err)
	}
	w.Keys, w.ValueBytes, w.LargestValueBytes, w.Seed = 200, 28, 200, 1
	m := &maps{values: map[ycsb.Key][]byte{}}
	for i := range w.Keys {
		op := w.Load(i)
		m.values[op.Key] = op.AppendValue(nil)
	}
	var phase atomic.Int32
	phase.Store(measuring)
	wk, err := newWorker(w, 0, together, m, &phase)
	if err != nil {
		t.Fatal(err)
	}
	wk.checker.ascending = true
	return m, wk
}

// The drawn operations are executed: after a while the store has, in each key,
// the value of its last write.
func TestOperations(t *testing.T) {
	for _, mix := range []string{"A", "B", "C", "D", "F", "read=50,update=25,rmw=25"} {
		for _, how := range []string{"one", "many", "pipeline"} {
			together := map[string]int{"one": 1, "many": 5, "pipeline": 8}[how]
			m, w := testWorker(t, mix, together)
			next := w.one
			if how == "pipeline" {
				next = w.pipeline
				w.checker.ascending = inOrder(w.ops.Mix)
			}
			for range 1000 {
				if err := next(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			// The same operations again, without a store.
			ops, err := w.ops.Ops(0)
			if err != nil {
				t.Fatal(err)
			}
			drawn := 1000
			if how == "pipeline" {
				drawn *= together
			}
			last, puts := map[ycsb.Key]uint64{}, 0
			var late []ycsb.Op
			for i := range drawn {
				op := ops.Next()
				if op.Kind.Writes() {
					puts++
					last[op.Key] = op.Seq
				}
				if op.Kind == ycsb.ReadModifyWrite {
					late = append(late, op)
				}
				if (i+1)%together == 0 && how == "pipeline" {
					for _, op := range late {
						last[op.Key] = op.Seq
					}
				}
				if (i+1)%together == 0 {
					late = late[:0]
				}
			}
			for k, want := range last {
				if seq, err := ycsb.CheckValue(k, m.values[k]); err != nil || seq != want {
					t.Fatalf("mix %s by %s: %s has %#x, want %#x: %v", mix, how, k, seq, want, err)
				}
			}
			a, counted := w.checker.Answers, int64(0)
			for _, l := range w.latency {
				if l != nil {
					counted += l.Count()
				}
			}
			if a.Wrong != 0 || a.Checked == 0 || m.puts != puts || counted != int64(drawn-len(w.reads)) && how != "pipeline" ||
				counted != int64(drawn) && how == "pipeline" {
				t.Errorf("mix %s by %s: %+v, %d puts of %d, %d counted of %d", mix, how, a, m.puts, puts, counted, drawn)
			}
		}
	}
}

// Only calls that end in the measured time count, but all are checked.
func TestPhases(t *testing.T) {
	_, w := testWorker(t, "C", 1)
	calls := 0
	for _, phase := range []int32{warming, measuring, over} {
		w.phase.Store(phase)
		w.latency[ycsb.Read].Reset()
		calls++
		if err := w.one(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.latency[ycsb.Read].Count() == 1; got != (phase == measuring) || w.checker.Checked != int64(calls) {
			t.Errorf("phase %d: counts %v, %d checked", phase, got, w.checker.Checked)
		}
	}
	// After the measured time no call begins.
	if err := w.run(t.Context(), func(context.Context) error { t.Error("a call"); return nil }); err != nil {
		t.Error(err)
	}
}

func TestWorkersDoNotAllocate(t *testing.T) {
	for how, together := range map[string]int{"one": 1, "many": 8, "pipeline": 8} {
		_, w := testWorker(t, "F", together)
		next := w.one
		if how == "pipeline" {
			next = w.pipeline
		}
		ctx := t.Context()
		for range 2000 { // All buffers have grown.
			if err := next(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(1000, func() { _ = next(ctx) }); n != 0 {
			t.Errorf("%s: %v allocations", how, n)
		}
	}
}

func TestChecker(t *testing.T) {
	w := ycsb.Config{Keys: 100, ValueBytes: 40}
	first, second := uint64(1)<<40, uint64(2)<<40 // clients 0 and 1
	for _, c := range []struct {
		name  string
		saw   []uint64
		reads uint64
		wrong bool
	}{
		{"loaded", nil, 0, false},
		{"anybody's", nil, second | 9, false},
		{"the same", []uint64{first | 5}, first | 5, false},
		{"newer", []uint64{first | 5}, first | 6, false},
		{"older", []uint64{first | 5}, first | 4, true},
		{"loaded after a write", []uint64{first | 5}, 0, true},
		{"another client's", []uint64{second | 5}, first | 4, false},
		{"older than what is newest", []uint64{first | 5, first | 3}, first | 4, true},
		{"older than what was seen between", []uint64{first | 5, second | 1, second | 8}, second | 7, true},
		{"loaded does not hide", []uint64{first | 5, 0}, first | 4, true},
	} {
		op := w.Load(7)
		ch := checker{ascending: true}
		for _, seq := range c.saw {
			ch.saw(7, seq)
			ch.saw(7+seenKeys-1, seq+100) // another key's
		}
		got := ch.check(&op, ycsb.Value(op.Key, c.reads, 40), true)
		if got != c.reads || ch.Checked != 1 || (ch.Wrong == 1) != c.wrong || (ch.First != "") != c.wrong {
			t.Errorf("%s: %#x, %+v", c.name, got, ch.Answers)
		}
		if ch.ascending = false; c.wrong {
			ch.check(&op, ycsb.Value(op.Key, c.reads, 40), true)
			if ch.Wrong != 1 {
				t.Errorf("%s: judged although numbers tell nothing", c.name)
			}
		}
	}
	op := w.Load(7)
	var ch checker
	ch.check(&op, nil, false)
	ch.check(&op, ycsb.Value(w.Key(8), 0, 40), true)
	if ch.Wrong != 2 || !strings.Contains(ch.First, "lost") {
		t.Errorf("%+v", ch.Answers)
	}
	// A cache may have no record, but no older value later.
	ch = checker{ascending: true, cache: true}
	ch.saw(7, first|5)
	ch.check(&op, nil, false)
	ch.check(&op, ycsb.Value(op.Key, first|4, 40), true)
	if ch.Missed != 1 || ch.Wrong != 1 || ch.Checked != 2 {
		t.Errorf("a cache: %+v", ch.Answers)
	}
	// A newly seen key takes another key's place.
	ch = checker{ascending: true}
	ch.saw(7, first|5)
	ch.saw(7+seenKeys, first|3)
	if ch.check(&op, ycsb.Value(op.Key, first|4, 40), true); ch.Wrong != 0 {
		t.Errorf("taken for another key: %+v", ch.Answers)
	}
}

// All keys of a process are loaded, once, whatever their number, and progress
// is reported.
func TestFill(t *testing.T) {
	for _, n := range []uint64{1, fillChunk, 3*fillChunk + 5} {
		m := &maps{values: map[ycsb.Key][]byte{}}
		job := ClientJob{Workload: ycsb.Config{Keys: 5000, ValueBytes: 40}, LoadFrom: 1000, LoadTo: 1000 + n, Clients: 2, InFlight: 3}
		single := struct{ Store }{m} // not a Pipeliner
		if err := fill(t.Context(), job, []Store{single, m}, func(string) {}); err != nil {
			t.Fatal(err)
		}
		for i := job.LoadFrom; i < job.LoadTo; i++ {
			if seq, err := ycsb.CheckValue(job.Workload.Key(i), m.values[job.Workload.Key(i)]); err != nil || seq != 0 {
				t.Fatalf("key %d: %d, %v", i, seq, err)
			}
		}
		if m.puts != int(n) || len(m.values) != int(n) {
			t.Errorf("%d puts, %d keys, want %d", m.puts, len(m.values), n)
		}
	}
	var told []string
	f := filler{job: ClientJob{LoadTo: 10 * noteKeys}, note: func(s string) { told = append(told, s) }}
	for loaded := uint64(100); loaded < 3*noteKeys; loaded += 100 {
		f.tell(loaded, 100)
	}
	if len(told) != 2 || told[0] != fmt.Sprintf("loaded %d of %d keys", (noteKeys+99)/100*100, 10*noteKeys) {
		t.Errorf("%q", told)
	}
}

// An error names the keys, and ends all loading.
func TestFillFails(t *testing.T) {
	job := ClientJob{Workload: ycsb.Config{Keys: 100, ValueBytes: 40}, LoadTo: 100, Clients: 1, InFlight: 1}
	err := fill(t.Context(), job, []Store{full{}}, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "loading keys 0 to 99 of 100: no room") {
		t.Error(err)
	}
}

type full struct{ Store }

func (full) Put(context.Context, []byte, []byte) error { return fmt.Errorf("no room") }

// Goroutines of all clients of all processes have different streams.
func TestStreams(t *testing.T) {
	w, err := Workload("C", "uniform")
	if err != nil {
		t.Fatal(err)
	}
	w.Keys, w.ValueBytes = 1<<40, 40
	var firsts []uint64
	for first := range 2 {
		m := &maps{}
		for _, s := range []Store{struct{ Store }{m}, m} { // A Pipeliner needs one only.
			l, err := newLoad(ClientJob{Workload: w, FirstClient: first, Clients: 1, InFlight: 4, Batch: 1}, []Store{s})
			if err != nil {
				t.Fatal(err)
			}
			if s == Store(m) {
				if len(l.workers) != 1 || cap(l.workers[0].many) != 4 {
					t.Errorf("%d goroutines", len(l.workers))
				}
				continue
			}
			for _, w := range l.workers {
				firsts = append(firsts, w.ops.Next().Number)
			}
		}
	}
	slices.Sort(firsts)
	if len(slices.Compact(firsts)) != 8 {
		t.Errorf("first keys %v, want 8 different ones", firsts)
	}
}

// unordered answers the reads of one call with different states of one key, the
// newer one first.
type unordered struct{ *maps }

func (unordered) GetMany(_ context.Context, rs []Request) error {
	for i := range rs {
		rs[i].Found, rs[i].Value = true, ycsb.AppendValue(rs[i].Value[:0], rs[i].Key, 1<<40|uint64(10-i), 40)
	}
	return nil
}

// Reads of one GetMany are unordered; but later reads are checked against them.
func TestGetManyIsUnordered(t *testing.T) {
	m, w := testWorker(t, "C", 4)
	w.store = unordered{m}
	op := w.ops.Load(7)
	for range 2 {
		for range 4 {
			w.reads = append(w.reads, op)
		}
		if err := w.getMany(t.Context()); err != nil {
			t.Fatal(err)
		}
		if w.checker.Checked == 4 && w.checker.Wrong != 0 {
			t.Errorf("in one call: %+v", w.checker.Answers)
		}
	}
	if w.checker.Wrong != 3 { // All but the newest, again.
		t.Errorf("in the next call: %+v", w.checker.Answers)
	}
}

// still is a Store that costs nothing: it answers each Get with the value that was
// loaded.
type still struct {
	*maps
	values map[ycsb.Key][]byte
}

func (s still) Get(_ context.Context, key, dst []byte) ([]byte, error) {
	return append(dst, s.values[ycsb.Key(key)]...), nil
}

// BenchmarkWorker measures a read's cost besides the store (and a map's
// lookup, some 20 ns): drawing, timing, recording, checking.
func BenchmarkWorker(b *testing.B) {
	w, err := Workload("C", "")
	if err != nil {
		b.Fatal(err)
	}
	w.Keys, w.ValueBytes, w.Seed = 1000, 32, 1
	s := still{values: map[ycsb.Key][]byte{}}
	for i := range w.Keys {
		op := w.Load(i)
		s.values[op.Key] = op.AppendValue(nil)
	}
	var phase atomic.Int32
	phase.Store(measuring)
	wk, err := newWorker(w, 0, 1, s, &phase)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := wk.one(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	if wk.checker.Wrong > 0 {
		b.Error(wk.checker.Answers)
	}
}
