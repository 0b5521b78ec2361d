package features

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/query"
)

// A loop counts the results of its steps, and ends with the first error.
func TestLoop(t *testing.T) {
	job := LoadJob{Work: SearchOne, Way: Ring, Duration: 20 * time.Millisecond}
	wrong := func(context.Context, *rand.Rand) (done, error) {
		return done{ops: 2, features: 3, wanted: 4, wrong: "one is missing"}, nil
	}
	s, err := loop(t.Context(), job, &steps{all: []step{wrong, wrong}}, time.Now())
	if err != nil || s.Ops == 0 || s.Features*2 != s.Ops*3 || s.Found != s.Features || s.Wanted != 2*s.Ops ||
		s.Wrong == 0 || s.First != "one is missing" || s.Latency.Count() != s.Ops || s.Elapsed < job.Duration {
		t.Errorf("%+v, %v", s, err)
	}
	broken := errors.New("broken")
	fails := func(context.Context, *rand.Rand) (done, error) { return done{}, broken }
	if _, err := loop(t.Context(), LoadJob{Duration: time.Hour}, &steps{all: []step{wrong, fails}}, time.Now()); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}

// Wrong answers are detected.
func TestJudge(t *testing.T) {
	q := &Query{Want: 2}
	if d := q.judge(2); d.wrong != "" || d.features != 2 {
		t.Errorf("%+v", d)
	}
	for _, n := range []int{0, 1, 3} {
		if d := q.judge(n); d.wrong == "" {
			t.Errorf("%d features: %+v", n, d)
		}
	}
	for distances, ok := range map[[2]float64]bool{{1, 2}: true, {1, 1}: true, {2, 1}: false} {
		var a ascending
		a.next(distances[0])
		a.next(distances[1])
		if d := a.judge(q); (d.wrong == "") != ok {
			t.Errorf("distances %v: %+v", distances, d)
		}
	}
}

// The events of moving objects follow from the moves, and a lost, changed or
// exchanged one is detected.
func TestFences(t *testing.T) {
	st, err := store.Open(t.Context(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	c, err := st.Create(collection, store.CollectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	v := &city{c: c, rng: rand.New(rand.NewPCG(1, 2)), places: make([]orb.Point, 50)}
	for i := range v.places {
		v.places[i] = orb.Point{cityWest + .01*v.rng.Float64(), citySouth + .01*v.rng.Float64()}
		if _, err := v.put(i); err != nil {
			t.Fatal(err)
		}
	}
	if v.watcher, err = c.Watch(t.Context(), store.WatchOptions{}); err != nil {
		t.Fatal(err)
	}
	defer v.watcher.Close()
	for i := range 20 {
		if err := v.watch(i, orb.Point{cityWest + .01*v.rng.Float64(), citySouth + .01*v.rng.Float64()}); err != nil {
			t.Fatal(err)
		}
	}
	s := &Sample{Latency: latency.New()}
	if err := v.run(t.Context(), 20*time.Millisecond, s); err != nil {
		t.Fatal(err)
	}
	check := func() *Sample {
		s := new(Sample)
		if err := v.check(s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := check(); s.Wrong != 0 || s.Found != s.Wanted || s.Found < 50 {
		t.Fatalf("%+v", s)
	}
	at := len(v.events) / 2
	events := v.events
	v.events = append(append([]fenceEvent{}, events[:at]...), events[at+1:]...)
	if s := check(); s.Wrong == 0 {
		t.Error("a lost event was not noticed")
	}
	v.events = append([]fenceEvent{}, events...)
	v.events[at].kind = query.Progress
	if s := check(); s.Wrong == 0 {
		t.Error("a wrong kind was not noticed")
	}
	v.events = append([]fenceEvent{}, events...)
	for next := at; ; next++ {
		if events[next].revision != events[at].revision {
			v.events[at], v.events[next] = events[next], events[at]
			break
		}
	}
	if s := check(); s.Wrong == 0 {
		t.Error("events out of order were not noticed")
	}
}

// A server's answers in RESP are counted, and broken ones are an error.
func TestRESP(t *testing.T) {
	const search = "*2\r\n:0\r\n*2\r\n*2\r\n$1\r\na\r\n$2\r\n{}\r\n*3\r\n$1\r\nb\r\n$2\r\n{}\r\n*2\r\n$5\r\ntenth\r\n$1\r\n3\r\n"
	for text, want := range map[string]reply{
		search:                          {objects: 2},
		"*2\r\n:0\r\n*0\r\n":            {},
		"+OK\r\n":                       {},
		"$-1\r\n":                       {},
		"*2\r\n$1\r\na\r\n$2\r\nbc\r\n": {texts: []string{"a", "bc"}},
	} {
		got, err := answered(t, text)
		if err != nil || got.objects != want.objects || strings.Join(got.texts, ",") != strings.Join(want.texts, ",") {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"-ERR no such key\r\n", "?\r\n", "\r\n", "*x\r\n", "*2\r\n:0\r\n", "$99999999999\r\n", search[:30],
		strings.Repeat("*1\r\n", 100) + ":1\r\n", "!1\r\n",
	} {
		if r, err := answered(t, text); err == nil {
			t.Errorf("%q: %+v, want an error", text, r)
		}
	}
}

// answered is do's result for a server's text.
func answered(t *testing.T, text string) (got reply, err error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan struct{})
	go func() {
		defer close(served)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Read(make([]byte, 100)) // the request
		_, _ = c.Write([]byte(text))
	}()
	c, err := dialRESP(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	err = c.do([][]string{{"PING"}}, func(_ int, r *reply) { got = *r })
	c.close()
	<-served
	return got, err
}
