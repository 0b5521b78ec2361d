package catfish

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/rstar"
)

// readLog reads a whole recording; names of collections replace numbers.
func readLog(t *testing.T, b []byte) (asked []querylog.Record, names map[uint32]string, lost uint64) {
	t.Helper()
	r, err := querylog.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	names = map[uint32]string{}
	last := time.Duration(0)
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return asked, names, lost
		}
		if err != nil {
			t.Fatal(err)
		}
		if rec.Offset < last {
			t.Fatalf("a record of %v after one of %v", rec.Offset, last)
		}
		last = rec.Offset
		switch rec.Kind {
		case querylog.Collection:
			names[rec.Collection] = rec.Name
		case querylog.Dropped:
			lost += rec.Lost
		default:
			if names[rec.Collection] == "" {
				t.Fatalf("collection %d has no name yet", rec.Collection)
			}
			asked = append(asked, rec)
		}
	}
}

func readLogFile(t *testing.T, path string) ([]querylog.Record, map[uint32]string, uint64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return readLog(t, b)
}

// recordingServer serves until stop, which ends the recording.
func recordingServer(t *testing.T, opts RecordOptions) (s *Server, stop func() error) {
	t.Helper()
	s, err := NewServer(ServerOptions{
		SlabBytes: 64 << 20, SocketPath: filepath.Join(t.TempDir(), "s"), Transports: offered,
		Fabric: testFabric, Collections: []string{"roads"}, Record: opts, Logger: quiet(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return errors.Join(<-done, s.Close())
	})
	t.Cleanup(func() { _ = stop() })
	return s, stop
}

// What every path asks is in the file, with what it found; what is
// offloaded is not.
func TestRecord(t *testing.T) {
	for _, writes := range []bool{false, true} {
		file := filepath.Join(t.TempDir(), "log")
		s, stop := recordingServer(t, RecordOptions{File: file, Writes: writes})
		if err := tree(t, s).Load([]rstar.Item{
			{Rect: rstar.Rect{MaxX: 1, MaxY: 1}, ID: 1}, {Rect: rstar.Rect{MinX: 2, MaxX: 3, MaxY: 1}, ID: 2},
		}); err != nil {
			t.Fatal(err)
		}
		all := rstar.Rect{MinX: -1, MinY: -1, MaxX: 9, MaxY: 9}
		to := rstar.Rect{MinX: 5, MinY: 5, MaxX: 6, MaxY: 6}
		type want struct {
			kind         querylog.Kind
			limit, found uint32
			id           uint64
			coll         string
		}
		ring := []want{
			{querylog.Search, 0, 2, 0, "default"}, {querylog.Search, 1, 1, 0, "default"},
			{querylog.Count, 0, 2, 0, "default"}, {querylog.Nearest, 1, 1, 0, "default"},
			{querylog.Insert, 0, 1, 7, "default"}, {querylog.Update, 0, 1, 7, "default"},
			{querylog.Delete, 0, 1, 7, "default"}, {querylog.Delete, 0, 0, 7, "default"},
			{querylog.Insert, 0, 1, 8, "roads"}, {querylog.Insert, 0, 1, 9, "roads"},
		}
		var wanted []want
		var through []querylog.Via
		clients := 0
		for _, p := range paths() {
			if strings.Contains(p.policy, "paper") || p.policy == "offload-single" {
				continue // Mixtures of the others.
			}
			c := dial(t, s, p.options())
			roads, err := c.Collection("roads")
			if err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			ask := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", p.name, err)
				}
			}
			_, err = c.Search(ctx, all)
			ask(err)
			_, err = c.SearchAppend(ctx, nil, all, 1)
			ask(err)
			_, err = c.Count(ctx, all)
			ask(err)
			_, err = c.Nearest(ctx, 0.5, 0.5, 1)
			ask(err)
			ask(c.Insert(ctx, all, 7))
			_, err = c.Update(ctx, all, to, 7)
			ask(err)
			_, err = c.Delete(ctx, to, 7)
			ask(err)
			_, err = c.Delete(ctx, to, 7)
			ask(err)
			_, err = roads.InsertMany(ctx, []rstar.Item{{Rect: all, ID: 8}, {Rect: to, ID: 9}})
			ask(err)
			// Refused by the server's own check, so not recorded.
			if _, err := c.Count(ctx, rstar.Rect{MinX: math.NaN()}); err == nil {
				t.Error("counted in NaN")
			}
			clients++
			for _, w := range ring {
				if w.kind.Writes() && !writes || !w.kind.Writes() && strings.HasPrefix(p.policy, "offload") {
					continue
				}
				wanted = append(wanted, w)
				through = append(through, vias[p.transport])
			}
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		got, names, lost := readLogFile(t, file)
		if len(got) != len(wanted) || lost != 0 {
			t.Fatalf("%d records, %d lost, want %d", len(got), lost, len(wanted))
		}
		for i, r := range got {
			w := want{r.Kind, r.Limit, r.Found, r.ID, names[r.Collection]}
			if w != wanted[i] || r.Via != through[i] {
				t.Errorf("record %d is %+v by %v, want %+v by %v", i, w, r.Via, wanted[i], through[i])
			}
			if int(r.Client) < 1 || int(r.Client) > clients {
				t.Errorf("record %d is of client %d, want 1 to %d", i, r.Client, clients)
			}
			if r.Kind == querylog.Search && r.Rect != all || r.Kind == querylog.Update && r.To != to ||
				r.Kind == querylog.Nearest && (r.X != 0.5 || !math.IsInf(r.Within, 1)) {
				t.Errorf("record %d is %+v", i, r)
			}
		}
		info, err := os.Stat(file)
		if st := s.Recording(); err != nil || st.Records != uint64(len(got)) || st.Dropped != 0 ||
			st.Bytes != uint64(info.Size()) || st.File != file || st.Error != "" {
			t.Errorf("stats %+v of %v, %v", st, info, err)
		}
	}
}

func TestRecordFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := ServerOptions{Transports: []string{TransportTCP}, SlabBytes: 1 << 20, Logger: quiet()}
	opts.Record.File = file
	if s, err := NewServer(opts); !errors.Is(err, ErrRecord) || !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, %v", s, err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "precious" {
		t.Errorf("%q, %v", b, err)
	}
	opts.Record.File = filepath.Join(file, "below")
	if _, err := NewServer(opts); !errors.Is(err, ErrRecord) {
		t.Errorf("below a file: %v", err)
	}
	// Forced, it is written anew; a server that never served leaves none.
	opts.Record = RecordOptions{File: file, Force: true}
	s, err := NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	if asked, _, _ := readLogFile(t, file); len(asked) > 0 {
		t.Errorf("%d records", len(asked))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a file: %v", err)
	}
	// So does one that could not start.
	opts.Listen = "256.0.0.1:0"
	if _, err := NewServer(opts); err == nil {
		t.Error("listens")
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a file: %v", err)
	}
}

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

func testRecorder(t *testing.T, f *memFile, log *slog.Logger) *recorder {
	t.Helper()
	r, err := startRecorder(RecordOptions{File: "mem", Writes: true}, log, f)
	if err != nil {
		t.Fatal(err)
	}
	r.names = func(uint32) string { return "default" }
	return r
}

func search(client uint32) *querylog.Record {
	return &querylog.Record{Kind: querylog.Search, Client: client, Rect: rstar.Rect{MaxX: float64(client)}}
}

// A record is in the file after the writer's interval, without a close:
// what a killed server loses is no older.
func TestRecordInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &memFile{limit: math.MaxInt}
		r := testRecorder(t, f, quiet())
		go r.run()
		r.add(search(3))
		time.Sleep(recordEvery + time.Millisecond) // On the bubble's clock.
		synctest.Wait()
		if asked, _, _ := readLog(t, f.Bytes()); len(asked) != 1 || asked[0].Client != 3 {
			t.Errorf("recorded %+v", asked)
		}
		if err := r.close(); err != nil || !f.synced || !f.closed {
			t.Errorf("%v, synced %v, closed %v", err, f.synced, f.closed)
		}
		r.add(search(4)) // Too late, but harmless.
	})
}

// What a worker recorded gets into the file though nothing follows, and its
// client stays.
func TestRecordIdle(t *testing.T) {
	s, _ := recordingServer(t, RecordOptions{File: filepath.Join(t.TempDir(), "log")})
	c := dial(t, s, Options{Transport: TransportSoft, Policy: "fast"})
	if _, err := c.Search(t.Context(), rstar.Rect{MaxX: 1, MaxY: 1}); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); s.Recording().Records == 0; runtime.Gosched() {
		if time.Since(began) > 20*time.Second {
			t.Fatal("nothing is recorded")
		}
	}
}

// A record in a worker's buffer holds back what others recorded later, and
// the file is in order of time.
func TestRecordOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &memFile{limit: math.MaxInt}
		r := testRecorder(t, f, quiet())
		a, b := r.tap(), r.tap()
		at := func(add func(*querylog.Record), client uint32) {
			time.Sleep(time.Millisecond) // On the bubble's clock.
			add(search(client))
		}
		recorded := func() (clients []uint32) {
			r.flush(false)
			asked, _, _ := readLog(t, f.Bytes())
			for _, rec := range asked {
				clients = append(clients, rec.Client)
			}
			return clients
		}
		at(r.add, 1)
		at(a.add, 2)
		at(b.add, 3)
		at(r.add, 4)
		b.handOver()
		if got := recorded(); !slices.Equal(got, []uint32{1}) {
			t.Errorf("recorded %v, want what came before all that is held", got)
		}
		a.handOverOld() // Not old yet.
		if got := recorded(); len(got) != 1 {
			t.Errorf("recorded %v", got)
		}
		time.Sleep(recordHold)
		at(b.add, 5)
		a.handOverOld()
		if got := recorded(); !slices.Equal(got, []uint32{1, 2, 3, 4}) {
			t.Errorf("recorded %v", got)
		}
		b.handOver()
		go r.run()
		if err := r.close(); err != nil {
			t.Error(err)
		}
		if asked, _, lost := readLog(t, f.Bytes()); len(asked) != 5 || lost != 0 {
			t.Errorf("%d recorded, %d lost", len(asked), lost)
		}
		a.add(search(6)) // Too late, but harmless.
		a.handOver()
	})
}

// While the writer does not come, buffers queue up to their bound. What is
// lost is said everywhere.
func TestRecordOverload(t *testing.T) {
	var said strings.Builder
	f := &memFile{limit: math.MaxInt}
	r := testRecorder(t, f, slog.New(slog.NewTextHandler(&said, nil)))
	const clients, each = 3, recordMaxQueued*(recordBufferBytes/64)/3 + 2000
	tap := r.tap()
	for range each {
		tap.add(search(0))
		for c := range uint32(clients - 1) {
			r.add(search(c + 1))
		}
	}
	tap.handOver()
	if r.queued > recordMaxQueued || len(r.wake) == 0 {
		t.Errorf("%d buffers wait, limit %d; the writer was woken: %v", r.queued, recordMaxQueued, len(r.wake) > 0)
	}
	go r.run()
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	asked, _, lost := readLog(t, f.Bytes())
	st := r.stats()
	if lost == 0 || uint64(len(asked))+lost != clients*each || st.Dropped != lost || st.Records != uint64(len(asked)) {
		t.Errorf("%d recorded, %d lost, want %d together; stats %+v", len(asked), lost, clients*each, st)
	}
	if !strings.Contains(said.String(), "does not keep up") {
		t.Errorf("said %q", said.String())
	}
	if r.queued != 0 || len(r.free) > recordKeepFree {
		t.Errorf("%d buffers wait, %d are kept, limit %d", r.queued, len(r.free), recordKeepFree)
	}
}

// When the disk is full the recording ends, and nothing else.
func TestRecordDiskFull(t *testing.T) {
	var said strings.Builder
	f := &memFile{limit: 1000}
	r := testRecorder(t, f, slog.New(slog.NewTextHandler(&said, nil)))
	for range 100 {
		r.add(search(1))
	}
	r.flush(false)
	r.add(search(2))
	go r.run()
	if err := r.close(); !errors.Is(err, errDiskFull) || !errors.Is(err, ErrRecord) {
		t.Errorf("closed with %v", err)
	}
	st := r.stats()
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

// Many at once, half of them with a tap: every request once, each client's
// in its order, all in the order of time.
func TestRecordConcurrent(t *testing.T) {
	f := &memFile{limit: math.MaxInt}
	r := testRecorder(t, f, quiet())
	go r.run()
	const clients, each = 16, 3000
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			c, add := r.client(), r.add
			if i%2 == 0 {
				tap := r.tap()
				add = tap.add
				defer tap.handOver()
			}
			for i := range uint64(each) {
				add(&querylog.Record{Kind: querylog.Insert, Client: c, ID: i})
			}
		})
	}
	wg.Wait()
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	asked, _, lost := readLog(t, f.Bytes()) // Checks the order of time.
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

// A worker ticks often enough for its heartbeats to be spread and, while it
// records, for its records to be written; heartbeats come no later for it.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		beat, tick time.Duration
		phases     int
		recording  int // phases then
	}{
		{time.Millisecond, time.Millisecond, 1, 1},
		{2500 * time.Microsecond, 1250 * time.Microsecond, 2, 2},
		{10 * time.Millisecond, 1250 * time.Microsecond, 8, 8},
		{time.Second, 125 * time.Millisecond, 8, 50},
		{10 * time.Second, 1250 * time.Millisecond, 8, 500},
	} {
		o := ServerOptions{HeartbeatInterval: c.beat}
		tick, phases := o.beatPhases()
		if tick != c.tick || phases != c.phases {
			t.Errorf("beats every %v: %d ticks of %v, want %d of %v", c.beat, phases, tick, c.phases, c.tick)
		}
		o.Record.File = "log"
		tick, phases = o.beatPhases()
		if phases != c.recording || tick > recordHold || tick*time.Duration(phases) > c.beat ||
			tick*time.Duration(phases+1) <= c.beat {
			t.Errorf("recording, beats every %v: %d ticks of %v", c.beat, phases, tick)
		}
	}
}

// What is recorded costs a worker no allocation.
func TestRecordAllocs(t *testing.T) {
	v, r := recordingService(t)
	p := appendRect(nil, rstar.Rect{MaxX: 1, MaxY: 1})
	if n := testing.AllocsPerRun(2000, func() { v.record(0, kindSearch, 0, p, nil, 0, nil) }); n > 0.5 {
		t.Errorf("%v allocations a record", n)
	}
	v.tap.handOver()
	go r.run()
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

// recordingService is a worker's service, whose recorder does not run yet.
func recordingService(t testing.TB) (*service, *recorder) {
	t.Helper()
	r, err := newRecorder(RecordOptions{File: filepath.Join(t.TempDir(), "log")}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	r.names = func(uint32) string { return "default" }
	return &service{s: &Server{rec: r}, via: querylog.ViaSHM, client: 1, tap: r.tap()}, r
}

// BenchmarkRecord is what a search costs that is recorded: by=worker what it
// costs the goroutine that serves it, by=all the writer's part on the same
// core included.
func BenchmarkRecord(b *testing.B) {
	for _, by := range []string{"worker", "all"} {
		b.Run("by="+by, func(b *testing.B) {
			v, r := recordingService(b)
			p := appendRect(nil, rstar.Rect{MaxX: 1, MaxY: 1})
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
				v.record(0, kindSearch, 0, p, nil, 0, nil)
				// What comes in between two visits of the writer, at 800,000
				// a second.
				if n++; n%16_000 == 0 {
					flush()
				}
			}
			b.StopTimer()
			v.tap.handOver()
			go r.run()
			if err := r.close(); err != nil {
				b.Fatal(err)
			}
			if st := r.stats(); st.Dropped > 0 || st.Records != uint64(n) {
				b.Errorf("%d records of %d, %d dropped", st.Records, n, st.Dropped)
			}
		})
	}
}
