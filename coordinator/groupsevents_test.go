package coordinator

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/placement"
)

// stream is one of events.
type stream struct {
	next  func() string // the next event: its kind, and its feature; empty: it has ended
	id    string        // of the last event
	data  string
	close func()
}

// eventsAt reads a stream of events of areas, after the event of an id, if there is one.
func eventsAt(t *testing.T, m *member, areas, after string) *stream {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+m.at.HTTP+"/collections/places/events?areas="+areas, nil)
	if err != nil {
		t.Fatal(err)
	}
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	s := &stream{close: func() { _ = a.Body.Close() }}
	t.Cleanup(s.close)
	in := bufio.NewScanner(a.Body)
	s.next = func() string {
		t.Helper()
		kind := ""
		for in.Scan() {
			if k, ok := strings.CutPrefix(in.Text(), "event: "); ok {
				kind = k
			}
			if id, ok := strings.CutPrefix(in.Text(), "id: "); ok {
				s.id = id
			}
			if data, ok := strings.CutPrefix(in.Text(), "data: "); ok {
				s.data = data
				var f struct{ ID, Why, Area string }
				if err := json.Unmarshal([]byte(data), &f); err != nil {
					t.Fatal(err)
				}
				if f.ID != "" {
					return strings.TrimSpace(kind + " " + f.ID + " " + f.Why + " " + f.Area)
				}
				return kind
			}
		}
		return "" // It has ended.
	}
	return s
}

// change is the next event that is of a feature, or says that events are lost.
func (s *stream) change() string {
	for {
		if e := s.next(); e != "progress" {
			return e
		}
	}
}

// Events of all groups come at each member, those of an id in the order of its writes, over HTTP
// and gRPC.
func TestGroupsEvents(t *testing.T) {
	t.Parallel()
	members, _ := groupsAndAlone(t)
	if a := ask(t, members["b/n1"], "PUT", "/collections/places", "application/json", `{}`); a.status != http.StatusCreated {
		t.Fatal(a)
	}
	streams := map[string]*stream{}
	watches := map[string]grpc.ServerStreamingClient[catfishv1.FeatureServiceWatchResponse]{}
	for name, m := range members {
		streams[name] = eventsAt(t, m, "here:0,0,10,10", "")
		if first := streams[name].next(); first != "progress" {
			t.Errorf("%s: the stream begins with %s", name, first)
		}
		w, err := dialGRPC(t, m).Watch(t.Context(), &catfishv1.FeatureServiceWatchRequest{Collection: "places", Query: &catfishv1.Query{Filter: "properties.n >= 0"}})
		if err != nil {
			t.Fatal(err)
		}
		if first, err := w.Recv(); err != nil || len(first.Events) > 0 {
			t.Fatal(first, err)
		}
		watches[name] = w
	}
	const n = 12
	for i := range n {
		path, body := fmt.Sprintf("/collections/places/items/%d", i), fmt.Sprintf(`{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"n":%d}}`, i)
		for _, w := range [][2]string{{"PUT", body}, {"PUT", strings.Replace(body, "[1,2]", "[2,2]", 1)}, {"DELETE", ""}} {
			if a := ask(t, members["a/n1"], w[0], path, "application/geo+json", w[1]); a.status >= 300 {
				t.Fatal(a)
			}
		}
	}
	for name := range members {
		of := map[string][]string{}
		for range 3 * n {
			e := streams[name].change()
			kind, id, _ := strings.Cut(e, " ")
			id, rest, _ := strings.Cut(id, " ")
			of[id] = append(of[id], strings.Join(strings.Fields(kind+" "+rest), " "))
		}
		over := map[string][]string{}
		for got := 0; got < 3*n; {
			r, err := watches[name].Recv()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range r.Events {
				over[e.Feature.Id] = append(over[e.Feature.Id], e.Kind.String())
			}
			got += len(r.Events)
		}
		for i := range n {
			if got := fmt.Sprint(of[fmt.Sprint(i)]); got != "[enter here inside here exit deleted here]" {
				t.Errorf("%s: events of %d: %s", name, i, got)
			}
			if got := fmt.Sprint(over[fmt.Sprint(i)]); got != "[FEATURE_EVENT_KIND_ENTER FEATURE_EVENT_KIND_INSIDE FEATURE_EVENT_KIND_EXIT]" {
				t.Errorf("%s: events of %d over gRPC: %s", name, i, got)
			}
		}
	}
	// When a group is lost the stream ends: what it would write is not known.
	members["b/n1"].close()
	if e := streams["a/n1"].change(); e != "" {
		t.Errorf("without group b: %s", e)
	}
}

// Events resume at any member after any event, over HTTP and gRPC: each later one comes, once, also those
// of one write that concerns several areas. What cannot be continued says so, as at one server.
func TestGroupsEventsResume(t *testing.T) {
	t.Parallel()
	members, _ := groupsAndAlone(t)
	one, other := members["a/n1"], members["b/n1"]
	if a := ask(t, one, "PUT", "/collections/places", "application/json", `{}`); a.status != http.StatusCreated {
		t.Fatal(a)
	}
	put := func(id string, n int) {
		t.Helper()
		body := fmt.Sprintf(`{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"n":%d}}`, n)
		if a := ask(t, other, "PUT", "/collections/places/items/"+id, "application/geo+json", body); a.status >= 300 {
			t.Fatal(a)
		}
	}
	const areas = "all:0,0,10,10;here:0,0,5,5;there:1,1,3,3"
	begins := eventsAt(t, one, areas, "")
	if first := begins.next(); first != "progress" {
		t.Fatalf("the stream begins with %s", first)
	}
	watch := func(m *member, req *catfishv1.FeatureServiceWatchRequest) grpc.ServerStreamingClient[catfishv1.FeatureServiceWatchResponse] {
		t.Helper()
		req.Collection = "places"
		w, err := dialGRPC(t, m).Watch(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	stands, err := watch(one, &catfishv1.FeatureServiceWatchRequest{}).Recv()
	if err != nil || stands.Position != begins.id {
		t.Fatalf("a watch stands at %v, %v, and a stream at %s", stands, err, begins.id)
	}
	const n = 20
	var want []string
	for i := range n {
		put(fmt.Sprint(i), i)
		for _, area := range []string{"all", "here", "there"} {
			want = append(want, fmt.Sprintf("enter %d %s", i, area))
		}
	}
	slices.Sort(want)
	// One event a stream, each at another member.
	var got []string
	after := begins.id
	for i := range want {
		s := eventsAt(t, []*member{one, other}[i%2], areas, after)
		got = append(got, strings.Join(strings.Fields(s.change()), " "))
		after = s.id
		s.close()
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d events, one a stream: %q, want %q", len(got), got, want)
	}
	// All of them over gRPC, some a stream.
	over := map[string]int{}
	at := stands.Position
	for count := 0; count < n; {
		w := watch(other, &catfishv1.FeatureServiceWatchRequest{Position: at})
		for first := true; first || count < n; first = false {
			r, err := w.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Events) == 0 {
				continue
			}
			for _, e := range r.Events {
				over[e.Feature.Id]++
				count++
			}
			at = r.Position
			break
		}
	}
	for i := range n {
		if over[fmt.Sprint(i)] != 1 {
			t.Errorf("events over gRPC: %v", over)
			break
		}
	}
	p, err := placement.ParseWatchPosition(stands.Position)
	if err != nil {
		t.Fatal(err)
	}
	foreign, older := *p, *p
	foreign.Groups = slices.Clone(p.Groups)
	foreign.Groups[1].History++
	older.Epoch--
	for what, test := range map[string]struct{ id, position, reason string }{
		"another store":      {foreign.String(), foreign.String(), "of another store"},
		"before slots moved": {older.String(), older.String(), "slots have moved"},
		"one server's id":    {"7-00000000000000aa", "", "of one server"},
	} {
		s := eventsAt(t, other, areas, test.id)
		if e := s.next(); e != "reset" || !strings.Contains(s.data, test.reason) || s.id == test.id {
			t.Errorf("%s: %s %s", what, e, s.data)
		}
		put("new", len(what))
		if e := s.change(); !strings.HasSuffix(strings.TrimSpace(e), "all") {
			t.Errorf("%s: the stream goes on with %q", what, e)
		}
		s.close()
		req := &catfishv1.FeatureServiceWatchRequest{Position: test.position}
		if test.position == "" {
			req.AfterRevision = 7
		}
		if _, err := watch(other, req).Recv(); status.Code(err) != codes.OutOfRange || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%s over gRPC: %v", what, err)
		}
	}
	for _, bad := range []string{"A", stands.Position + ".9-1", stands.Position + ".0", stands.Position[1:]} {
		if a := get(t, one, "/collections/places/events?lastEventId="+bad); a.status != http.StatusBadRequest {
			t.Errorf("id %q: %d", bad, a.status)
		}
	}
	if _, err := watch(one, &catfishv1.FeatureServiceWatchRequest{Position: "A"}).Recv(); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a bad position: %v", err)
	}
}
