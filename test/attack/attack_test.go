package attack

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
)

// childArg makes this test binary an attacker's process.
const childArg = "attacker-process"

// serverBinary is the server under test.
var serverBinary string

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == childArg {
		if err := ChildMain(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	dir, err := os.MkdirTemp("", "attack")
	if err == nil {
		serverBinary = filepath.Join(dir, "catfish")
		var out []byte
		if out, err = exec.Command("go", "build", "-C", "../..", "-o", serverBinary, "./cmd/catfish").CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// givenBack must exceed Go's delay before it collects an idle process's garbage.
var givenBack = flag.Duration("given-back", 0, "how long a server may take to give back what attackers took, as 3m; 0: that is not judged")

func spawn(child.Role, affinity.Set) *exec.Cmd { return exec.Command(selfPath, childArg) }

const (
	testObjects = 20_000
	// memoryLimit has room for six uploads, which take 35 MiB each of an
	// eighth: with less, the honest upload may have to repeat.
	memoryLimit = "2GiB"
)

// With this size a collection fills quickly.
var testFlags = []string{"--memory-limit", memoryLimit, "--slab-bytes", "32MiB"}

// The attacks that run at the same time, so that few servers are started.
var groups = map[string][]Attack{
	"ask much":     {longRequests, hugeAnswers, grpcSearches, idleUploads, hugeRegions},
	"take nothing": {unreadRings, unreadSockets, unreadLanes, trickle, stopped},
	"say nothing":  {silentStreams, silentHandshakes, silentSockets, slowSenders},
	"fetch":        {unreadFetched, fetchChanges, malformedFetched},
	"talk rubbish": {malformed, malformedRings, resets, collections, fullRecords},
	"want records": {malformedRecords, cursors, leases, shortLived},
	"want pages":   {httpSlow, httpUnread, httpIdle, httpMalformed, httpCostly, httpStreams, http2Floods},
	"want places":  {malformedFeatures, halfPuts, costlySearches, unreadFeatures},
}

// TestAttacks: beside all attacks the honest clients get right answers and no
// errors, the server stays within its memory, and its log stays small. Each
// attack had its effect.
func TestAttacks(t *testing.T) {
	var made []string
	for name, attacks := range groups {
		for _, a := range attacks {
			made = append(made, a.Name)
		}
		t.Run(name, func(t *testing.T) {
			row, err := Run(t.Context(), Config{
				ServerConfig: ServerConfig{Binary: serverBinary, Objects: testObjects, Flags: testFlags},
				Spawn:        spawn, Attacks: attacks, Name: name, Small: true, Rate: 100,
				Alone: 200 * time.Millisecond, Duration: 2 * time.Second, After: *givenBack,
			})
			if err != nil {
				t.Fatal(err)
			}
			if *givenBack == 0 {
				row.GivenBack = 0
			}
			for _, b := range row.Broken(attacks, false) {
				t.Error(b)
			}
			for _, c := range row.Clients {
				// A busy machine may be too slow for a dial.
				if c.Beside.Errors > 0 && c.Name != "new clients" || c.Beside.Rate == 0 {
					t.Errorf("%s: %+v, %v", c.Name, c.Beside, c.Errors)
				}
			}
			if row.Limit != 2<<30 {
				t.Errorf("the memory limit is %d", row.Limit)
			}
		})
	}
	for _, a := range Attacks() {
		if !slices.Contains(made, a.Name) {
			t.Errorf("%s was not made", a.Name)
		}
	}
}

// TestBroken: a row reports each broken promise.
func TestBroken(t *testing.T) {
	good := func() Row {
		return Row{
			Seconds: 10, Limit: 1 << 30,
			Attackers: map[string]map[string]int{longRequests.Name: {longRequests.shows: 1}},
			Clients: []ClientRow{
				{Name: "shm", Alone: Part{Rate: 100, P99: 500}, Beside: Part{Rate: 60, P99: 1400}},
				{Name: "new clients", Alone: Part{Rate: 10, P99: 500}, Beside: Part{Rate: 9.5, P99: 1400, Errors: 5}},
			},
		}
	}
	attacks := []Attack{longRequests}
	if r := good(); len(r.Broken(attacks, true)) != 0 {
		t.Fatalf("a good row: %q", r.Broken(attacks, true))
	}
	for want, spoil := range map[string]func(*Row){
		"died":            func(r *Row) { r.Died = "died" },
		"wrong answers":   func(r *Row) { r.Clients[0].After.Wrong = 1 },
		"did nothing":     func(r *Row) { r.Attackers = nil },
		"resident, limit": func(r *Row) { r.Beside.Peak = 2 << 30 },
		"bytes of log":    func(r *Row) { r.Beside.LogBytes = 1 << 20 },
		"not given back":  func(r *Row) { r.GivenBack = -1 },
		"requests/s":      func(r *Row) { r.Clients[0].Beside.Rate = 40 },
		"p99":             func(r *Row) { r.Clients[0].Beside.P99 = 1600 },
		"new clients":     func(r *Row) { r.Clients[1].Beside.Errors = 50 },
	} {
		r := good()
		spoil(&r)
		if b := r.Broken(attacks, true); len(b) != 1 || !strings.Contains(b[0], want) {
			t.Errorf("%s: %q", want, b)
		}
	}
}

// TestSummary: the row of a table shows the client that lost most.
func TestSummary(t *testing.T) {
	r := Row{
		Attack: "http-costly", Attackers: map[string]map[string]int{"http-costly": {"status 503": 2, "begun": 34}},
		Clients: []ClientRow{
			{Name: "shm", Alone: Part{Rate: 100, P99: 500, Wrong: 1}, Beside: Part{Rate: 60, P99: 1400, Errors: 2}},
			{Name: "soft", Alone: Part{Rate: 100, P99: 500}, Beside: Part{Rate: 90, P99: 1600}, After: Part{Wrong: 1}},
			{Name: "uploads"}, // none before the attack
		},
		Beside: Sample{Peak: 300 << 20},
	}
	want := "| http-costly | 34 begun, 2 status 503 | 60 % (shm) | 3.2 (soft) | 2, 2 | 300 |"
	if got := r.summary(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestWrongAnswers: the clients notice a wrong answer, and an object that is not found
// after its insert.
func TestWrongAnswers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	qs, err := newQuestions(1000)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, q := range qs {
		found += q.want.Count
	}
	if found < questions*perAnswer/2 {
		t.Errorf("%d questions find %d objects", questions, found)
	}
	s, err := startServer(ctx, ServerConfig{Binary: serverBinary, Objects: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}()
	clients, err := newHonest(ctx, s.Target, qs, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(clients)
	for _, h := range clients {
		if err := h.ask(ctx); err != nil {
			t.Errorf("%s: %v", h.name, err)
		}
	}
	for i := range qs {
		qs[i].want.Sum++
	}
	for _, h := range clients {
		if err := h.ask(ctx); h.name != "shm, writes" && !errors.Is(err, errWrong) {
			t.Errorf("%s finds nothing wrong: %v", h.name, err)
		}
	}
	st, err := s.status(ctx)
	if err != nil || st.Memory.Goroutines == 0 || len(st.Budgets) == 0 {
		t.Errorf("status %+v, %v", st.Memory, err)
	}
}

// TestServerDies: the death of a server during an attack is reported.
func TestServerDies(t *testing.T) {
	s, err := startServer(t.Context(), ServerConfig{Binary: serverBinary, Objects: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if err := s.watch(t.Context(), time.Minute, nil); err == nil || !strings.Contains(err.Error(), "died") {
		t.Errorf("watch: %v", err)
	}
	if s.stop() == nil {
		t.Error("stop finds nothing wrong")
	}
	if _, err := startServer(t.Context(), ServerConfig{Binary: serverBinary, Objects: 1000, Flags: []string{"--nonsense"}}); err == nil {
		t.Error("a server with a flag that there is not starts")
	}
}

func TestSoak(t *testing.T) {
	samples, row, err := Soak(t.Context(), Config{
		ServerConfig: ServerConfig{Binary: serverBinary, Objects: testObjects, Flags: testFlags},
		Spawn:        spawn, Rate: 50, Duration: 2 * time.Second,
	})
	if err != nil || len(samples) == 0 || samples[0].Goroutines == 0 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	for _, b := range row.Broken(nil, false) {
		t.Error(b)
	}
	var csv strings.Builder
	if err := WriteSamples(&csv, samples); err != nil || strings.Count(csv.String(), "\n") != 1+len(samples) {
		t.Errorf("%q, %v", csv.String(), err)
	}
	if doc := SoakReport(samples, &row); len(doc.Sections[0].Plots) != len(measures) || len(doc.Sections[0].Plots[0].Lines[0].Points) != len(samples) {
		t.Errorf("%+v", doc.Sections[0])
	}
}

func TestGrew(t *testing.T) {
	flat := make([]Sample, 16)
	for i := range flat {
		flat[i] = Sample{Resident: 100 << 20, Descriptors: 30, Goroutines: 50, Live: 4 << 20, Threads: 10}
	}
	flat[1].Resident = 1 << 30 // the beginning does not count
	flat[15].Live = 1 << 30    // large answers come and go
	if g := Grew(flat); len(g) != 0 {
		t.Errorf("flat samples: %q", g)
	}
	for i := range flat {
		flat[i].Goroutines += 10 * i
	}
	if g := Grew(flat); len(g) != 1 || !strings.Contains(g[0], "Goroutines") {
		t.Errorf("%q", g)
	}
	if len(Grew(nil)) == 0 {
		t.Error("no samples are flat")
	}
}

// TestTarget: the attackers' raw protocol is the server's.
func TestTarget(t *testing.T) {
	s, err := startServer(t.Context(), ServerConfig{Binary: serverBinary, Objects: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	st, err := s.status(t.Context())
	if err != nil || s.BootID != st.BootID || s.Socket == "" {
		t.Errorf("%+v, %v", s.Target, err)
	}
	e := newEnemy(Job{Target: s.Target, Small: true})
	slab, err := e.slab(t.Context())
	if err != nil || slab.Key == 0 {
		t.Errorf("slab %+v, %v", slab, err)
	}
	c, err := e.stream(t.Context(), 0, streamTCP)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(frame(kindSearch, 1, searchAll())); err != nil {
		t.Fatal(err)
	}
	if kind, err := readAnswer(c); err != nil || kind != kindReply {
		t.Errorf("answer of kind %d, %v", kind, err)
	}
}
