package recording

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/internal/querylog/querylogtest"
	"github.com/catfish-index/catfish/rstar"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// memFile is a disk of limited size.
type memFile struct {
	bytes.Buffer
	limit  int
	synced bool
	closed bool
}

var errDiskFull = errors.New("disk full")

func (f *memFile) Write(b []byte) (int, error) {
	if left := f.limit - f.Len(); len(b) > left {
		n, _ := f.Buffer.Write(b[:left])
		return n, errDiskFull
	}
	return f.Buffer.Write(b)
}
func (f *memFile) Sync() error  { f.synced = true; return nil }
func (f *memFile) Close() error { f.closed = true; return nil }

func testRecorder(t *testing.T, f *memFile, log *slog.Logger) *Recorder {
	t.Helper()
	r, err := start(Options{File: "mem", Writes: true}, log, f)
	if err != nil {
		t.Fatal(err)
	}
	r.names = func(uint32) string { return "default" }
	return r
}

func search(client uint32) *querylog.Record {
	return &querylog.Record{Kind: querylog.Search, Client: client, Rect: rstar.Rect{MaxX: float64(client)}}
}

// A record is in the file after the writer's interval, without a Close: only
// younger records are lost when the server is killed.
func TestRecordInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &memFile{limit: math.MaxInt}
		r := testRecorder(t, f, quiet())
		go r.run()
		r.Add(search(3))
		time.Sleep(writeEvery + time.Millisecond) // On the bubble's clock.
		synctest.Wait()
		if asked, _, _ := querylogtest.Read(t, f.Bytes()); len(asked) != 1 || asked[0].Client != 3 {
			t.Errorf("recorded %+v", asked)
		}
		if err := r.Close(); err != nil || !f.synced || !f.closed {
			t.Errorf("%v, synced %v, closed %v", err, f.synced, f.closed)
		}
		r.Add(search(4)) // Too late, but harmless.
	})
}

// A record in a worker's buffer holds back later records of other taps: the
// file is in order of time.
func TestRecordOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &memFile{limit: math.MaxInt}
		r := testRecorder(t, f, quiet())
		a, b := r.NewTap(), r.NewTap()
		at := func(add func(*querylog.Record), client uint32) {
			time.Sleep(time.Millisecond) // On the bubble's clock.
			add(search(client))
		}
		recorded := func() (clients []uint32) {
			r.flush(false)
			asked, _, _ := querylogtest.Read(t, f.Bytes())
			for _, rec := range asked {
				clients = append(clients, rec.Client)
			}
			return clients
		}
		at(r.Add, 1)
		at(a.Add, 2)
		at(b.Add, 3)
		at(r.Add, 4)
		b.HandOver()
		if got := recorded(); !slices.Equal(got, []uint32{1}) {
			t.Errorf("recorded %v, want what came before all that is held", got)
		}
		a.HandOverOld() // Not old yet.
		if got := recorded(); len(got) != 1 {
			t.Errorf("recorded %v", got)
		}
		time.Sleep(Hold)
		at(b.Add, 5)
		a.HandOverOld()
		if got := recorded(); !slices.Equal(got, []uint32{1, 2, 3, 4}) {
			t.Errorf("recorded %v", got)
		}
		b.HandOver()
		go r.run()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if asked, _, lost := querylogtest.Read(t, f.Bytes()); len(asked) != 5 || lost != 0 {
			t.Errorf("%d recorded, %d lost", len(asked), lost)
		}
		a.Add(search(6)) // Too late, but harmless.
		a.HandOver()
	})
}

// While the writer does not run, buffers are queued up to a bound. Losses
// beyond the bound are reported everywhere.
func TestRecordOverload(t *testing.T) {
	var said strings.Builder
	f := &memFile{limit: math.MaxInt}
	r := testRecorder(t, f, slog.New(slog.NewTextHandler(&said, nil)))
	const clients, each = 3, maxQueued*(bufferBytes/64)/3 + 2000
	tap := r.NewTap()
	for range each {
		tap.Add(search(0))
		for c := range uint32(clients - 1) {
			r.Add(search(c + 1))
		}
	}
	tap.HandOver()
	if r.queued > maxQueued || len(r.wake) == 0 {
		t.Errorf("%d buffers wait, limit %d; the writer was woken: %v", r.queued, maxQueued, len(r.wake) > 0)
	}
	go r.run()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	asked, _, lost := querylogtest.Read(t, f.Bytes())
	st := r.Stats()
	if lost == 0 || uint64(len(asked))+lost != clients*each || st.Dropped != lost || st.Records != uint64(len(asked)) {
		t.Errorf("%d recorded, %d lost, want %d together; stats %+v", len(asked), lost, clients*each, st)
	}
	if !strings.Contains(said.String(), "does not keep up") {
		t.Errorf("said %q", said.String())
	}
	if r.queued != 0 || len(r.free) > keepFree {
		t.Errorf("%d buffers wait, %d are kept, limit %d", r.queued, len(r.free), keepFree)
	}
}

// When the disk is full the recording ends, and nothing else.
func TestRecordDiskFull(t *testing.T) {
	var said strings.Builder
	f := &memFile{limit: 1000}
	r := testRecorder(t, f, slog.New(slog.NewTextHandler(&said, nil)))
	for range 100 {
		r.Add(search(1))
	}
	r.flush(false)
	r.Add(search(2))
	go r.run()
	if err := r.Close(); !errors.Is(err, errDiskFull) || !errors.Is(err, ErrRecord) {
		t.Errorf("closed with %v", err)
	}
	st := r.Stats()
	if st.Dropped != 101 || st.Records != 0 || !strings.Contains(st.Error, "disk full") || !f.closed {
		t.Errorf("stats %+v", st)
	}
	if !strings.Contains(said.String(), "recording has ended") {
		t.Errorf("said %q", said.String())
	}
	// The file is whole up to where the disk ended.
	log, err := querylog.NewReader(bytes.NewReader(f.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for err == nil {
		if _, err = log.Next(); err == nil {
			n++
		}
	}
	if !errors.Is(err, querylog.ErrTorn) || n < 10 {
		t.Errorf("%d records, then %v", n, err)
	}
}

// Many clients record at once, half of them with a tap of their own: every
// request is in the file once, in order of time, each client's in its order.
func TestRecordConcurrent(t *testing.T) {
	f := &memFile{limit: math.MaxInt}
	r := testRecorder(t, f, quiet())
	go r.run()
	const clients, each = 16, 3000
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			c, add := r.Client(), r.Add
			if i%2 == 0 {
				tap := r.NewTap()
				add = tap.Add
				defer tap.HandOver()
			}
			for i := range uint64(each) {
				add(&querylog.Record{Kind: querylog.Insert, Client: c, ID: i})
			}
		})
	}
	wg.Wait()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	asked, _, lost := querylogtest.Read(t, f.Bytes()) // Checks the order of time.
	next := map[uint32]uint64{}
	for _, a := range asked {
		if a.ID != next[a.Client] {
			t.Fatalf("client %d: request %d after %d", a.Client, a.ID, next[a.Client])
		}
		next[a.Client]++
	}
	if len(asked) != clients*each || lost != 0 || len(next) != clients {
		t.Errorf("%d requests of %d clients, %d lost", len(asked), len(next), lost)
	}
}

// Recording does not allocate.
func TestRecordAllocs(t *testing.T) {
	f := &memFile{limit: math.MaxInt}
	r := testRecorder(t, f, quiet())
	tap, rec := r.NewTap(), search(1)
	if n := testing.AllocsPerRun(2000, func() { tap.Add(rec) }); n > 0.5 {
		t.Errorf("%v allocations a record", n)
	}
	tap.HandOver()
	go r.run()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// BenchmarkRecord measures what it costs to record a search: by=worker in the
// goroutine that serves it, by=all with the writer's part on the same core.
func BenchmarkRecord(b *testing.B) {
	for _, by := range []string{"worker", "all"} {
		b.Run("by="+by, func(b *testing.B) {
			r, err := New(Options{File: filepath.Join(b.TempDir(), "log")}, quiet())
			if err != nil {
				b.Fatal(err)
			}
			r.names = func(uint32) string { return "default" }
			tap, rec := r.NewTap(), search(1)
			flush := func() {
				if by == "worker" {
					b.StopTimer()
					defer b.StartTimer()
				}
				r.flush(false)
			}
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				tap.Add(rec)
				// The records between two rounds of the writer, at 800,000
				// searches per second.
				if n++; n%16_000 == 0 {
					flush()
				}
			}
			b.StopTimer()
			tap.HandOver()
			go r.run()
			if err := r.Close(); err != nil {
				b.Fatal(err)
			}
			if st := r.Stats(); st.Dropped > 0 || st.Records != uint64(n) {
				b.Errorf("%d records of %d, %d dropped", st.Records, n, st.Dropped)
			}
		})
	}
}
