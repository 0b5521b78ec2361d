package server

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/internal/querylog/querylogtest"
	"github.com/catfish-index/catfish/internal/recording"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// recordingServer serves until stop, which ends the recording.
func recordingServer(t *testing.T, opts RecordOptions) (s *Server, stop func() error) {
	t.Helper()
	s, err := NewServer(Options{
		SlabBytes: 64 << 20, SocketPath: filepath.Join(t.TempDir(), "s"), Transports: offered,
		Fabric: testFabric, Collections: []string{"roads"}, Record: opts, Logger: quiet(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, catfishtest.Run(t, s)
}

// TestRecord: the requests of every path are in the file, with the number of
// objects found; offloaded searches are not.
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
				continue // Mixtures of the other paths.
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
			// The server's own check refuses this, so it is not recorded.
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
		got, names, lost := querylogtest.ReadFile(t, file)
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

// TestTicks: a worker ticks often enough for its heartbeats to be spread and, while it
// records, for its records to be written; recording does not delay heartbeats.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		interval, tick time.Duration
		phases         int
		recording      int // phases then
	}{
		{time.Millisecond, time.Millisecond, 1, 1},
		{2500 * time.Microsecond, 1250 * time.Microsecond, 2, 2},
		{10 * time.Millisecond, 1250 * time.Microsecond, 8, 8},
		{time.Second, 125 * time.Millisecond, 8, 50},
		{10 * time.Second, 1250 * time.Millisecond, 8, 500},
	} {
		o := Options{HeartbeatInterval: c.interval}
		tick, phases := o.heartbeatPhases()
		if tick != c.tick || phases != c.phases {
			t.Errorf("heartbeats every %v: %d ticks of %v, want %d of %v", c.interval, phases, tick, c.phases, c.tick)
		}
		o.HeartbeatInRing = true
		if tick, phases := o.heartbeatPhases(); tick != c.interval || phases != 1 {
			t.Errorf("in the ring, every %v: %d ticks of %v", c.interval, phases, tick)
		}
		o.HeartbeatInRing = false
		o.Record.File = "log"
		tick, phases = o.heartbeatPhases()
		if phases != c.recording || tick > recording.Hold || tick*time.Duration(phases) > c.interval ||
			tick*time.Duration(phases+1) <= c.interval {
			t.Errorf("recording, heartbeats every %v: %d ticks of %v", c.interval, phases, tick)
		}
	}
}

// TestRecordAllocs: recording a request does not allocate.
func TestRecordAllocs(t *testing.T) {
	as := recordingWorker(t)
	req := &request{kind: wire.KindSearch, coll: &collection{}, rect: rstar.Rect{MaxX: 1, MaxY: 1}}
	if n := testing.AllocsPerRun(2000, func() { as.record(req, nil, 0, nil) }); n > 0.5 {
		t.Errorf("%v allocations a record", n)
	}
	as.tap.HandOver()
	as.rec.Start(func(uint32) string { return "default" })
	if err := as.rec.Close(); err != nil {
		t.Error(err)
	}
}

// TestRecordLongSearchMany: a searchMany whose first search takes long is recorded as that
// search, since the client repeats the others.
func TestRecordLongSearchMany(t *testing.T) {
	as := recordingWorker(t)
	tr, err := rstar.New(rstar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	items := make([]rstar.Item, 30_000)
	for i := range items {
		items[i] = rstar.Item{Rect: square(float64(i%200), float64(i/200)), ID: uint64(i)}
	}
	if err := tr.Load(items); err != nil {
		t.Fatal(err)
	}
	req := request{kind: wire.KindSearchMany, coll: &collection{Tree: tr}, rects: []rstar.Rect{everything, square(1, 1)}}
	_, rest := tr.SearchSome(nil, everything, len(items), soonNodes)
	if rest == nil {
		t.Fatal("the search is short")
	}
	v := service{s: &Server{rec: as.rec, opts: Options{MaxResults: len(items)}}, tap: as.tap}
	w := v.newScan(new(peer), &req, rest)
	defer w.steps.close()
	for ready := false; !ready; {
		if ready, err = w.steps.step(soonNodes); err != nil {
			t.Fatal(err)
		}
	}
	as.tap.HandOver()
	as.rec.Start(func(uint32) string { return "default" })
	if err := as.rec.Close(); err != nil {
		t.Fatal(err)
	}
	got, _, _ := querylogtest.ReadFile(t, as.rec.Stats().File)
	if len(got) != 1 || got[0].Kind != querylog.Search || got[0].Rect != everything || int(got[0].Found) != len(items) {
		t.Errorf("recorded: %+v", got)
	}
}

// recordingWorker is a worker's way to record, to a recorder that does not run yet.
func recordingWorker(t testing.TB) recordAs {
	t.Helper()
	r, err := recording.New(recording.Options{File: filepath.Join(t.TempDir(), "log")}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	return recordAs{rec: r, tap: r.NewTap(), via: querylog.ViaSHM, client: 1}
}
