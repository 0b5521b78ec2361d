package web

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/store"
)

const fences = `{"areas":[
	{"name":"depot","bbox":[0,0,10,10]},
	{"name":"airport","point":[5,5],"radius":10000},
	{"name":"tówn \"A\"","geometry":{"type":"Polygon","coordinates":[[[4,4],[20,4],[20,20],[4,4]]]},"filter":"speed > 50"},
	{"name":"both","bbox":[4,4,6,6],"filter":{"op":"or","args":[{"op":"s_intersects","args":[{"property":"geometry"},{"bbox":[4,4,5,5]}]},{"op":">","args":[{"property":"speed"},90]}]}}
]}`

// followAreas posts areas, and follows the stream.
func followAreas(t *testing.T, client *http.Client, address, body string, headers ...string) *follower {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{t: t, res: res, r: bufio.NewReader(res.Body)}
	t.Cleanup(f.close)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != typeEvents {
		b, _ := io.ReadAll(res.Body)
		t.Fatalf("%s: %s", res.Status, b)
	}
	return f
}

// told returns the next n events, as kind, id and area, without those of "end".
func (f *follower) told(n int) (all []string) {
	f.t.Helper()
	for range n {
		e := f.next("enter", "inside", "changed", "exit")
		var g struct{ ID, Area string }
		if err := json.Unmarshal([]byte(e.data), &g); err != nil {
			f.t.Fatal(err)
		}
		all = append(all, fmt.Sprint(e.name, " ", g.ID, " ", g.Area))
	}
	return all
}

// One stream follows areas of all shapes, with filters of their own and one for all.
func TestAreas(t *testing.T) {
	w := newSite(t, Options{})
	s := w.serveTest(t)
	w.put("empty", at("bus", 90, 45, `{"speed":40,"kind":"bus"}`))
	f := followAreas(t, s.Client(), s.URL+emptyEvents+"?kind=bus", fences)
	f.next("progress")
	w.put("empty", at("tram", 5, 5, `{"speed":40,"kind":"tram"}`))                                       // another kind
	w.put("empty", store.Feature{ID: "plan", Properties: json.RawMessage(`{"speed":100,"kind":"bus"}`)}) // nowhere
	for _, c := range []struct {
		feature store.Feature
		want    []string
	}{
		{at("bus", 1, 1, `{"speed":40,"kind":"bus"}`), []string{"enter bus depot"}},
		{at("bus", 5, 4.99, `{"speed":40,"kind":"bus"}`), []string{"enter bus airport", "enter bus both", "inside bus depot"}},
		{at("bus", 5.5, 4.99, `{"speed":60,"kind":"bus"}`), []string{"exit bus airport", "exit bus both", `enter bus tówn "A"`, "inside bus depot"}},
		{at("bus", 5.5, 4.99, `{"speed":95,"kind":"bus"}`), []string{"changed bus depot", `changed bus tówn "A"`, "enter bus both"}},
		{at("bus", 90, 45, `{"speed":95,"kind":"bus"}`), []string{"exit bus both", "exit bus depot", `exit bus tówn "A"`}},
	} {
		w.put("empty", c.feature)
		got := f.told(len(c.want))
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.feature.Geometry, got, c.want)
		}
	}
}

// GET follows areas as well, as EventSource requests it; events of a single area without
// a name carry no area. A client that reconnects gets all it missed, and no event twice.
func TestAreasOfGet(t *testing.T) {
	w := newSite(t, Options{})
	s := w.serveTest(t)
	areas := "a:b:0,0,10,10;airport:5,5,10000"
	f := follow(t, s.Client(), eventsOf(s, "areas", areas))
	f.next("progress")
	w.put("empty", at("x", 5, 5, `{}`))
	if got := f.told(1); got[0] != "enter x a:b" {
		t.Errorf("%q", got)
	}
	f.close() // The client has received one event of two.
	one := f.last
	f = follow(t, s.Client(), eventsOf(s, "areas", areas), "Last-Event-ID: "+one)
	f.next("progress")
	again := f.last // The client has received no event.
	if got := f.told(1); !slices.Equal(got, []string{"enter x airport"}) {
		t.Errorf("%q", got)
	}
	f.close()
	for _, id := range []string{again, one} {
		f = follow(t, s.Client(), eventsOf(s, "areas", areas, "lastEventId", id))
		if got := f.told(1); !slices.Equal(got, []string{"enter x airport"}) {
			t.Errorf("%s: %q", id, got)
		}
		f.close()
	}
	// An id from before ids carried the area. And one of an area that is no longer
	// followed: repeat an event rather than lose one.
	revision, rest, _ := strings.Cut(one, "-")
	history, _, _ := strings.Cut(rest, "-")
	for id, areas := range map[string]string{revision + "-" + history: areas, one: "a:c:0,0,10,10;airport:5,5,10000"} {
		g := follow(t, s.Client(), eventsOf(s, "areas", areas), "Last-Event-ID: "+id)
		if got := g.told(2); len(got) != 2 || got[1] != "enter x airport" {
			t.Errorf("%s: %q", id, got)
		}
		g.close()
	}
	w.put("empty", at("x", 6, 6, `{}`))
	f = followAreas(t, s.Client(), s.URL+emptyEvents, `{"areas":[{"name":"a","bbox":[0,0,10,10]}]}`, "Last-Event-ID: "+f.last)
	if got := f.told(1); got[0] != "inside x a" {
		t.Errorf("%q", got)
	}
	f = follow(t, s.Client(), eventsOf(s, "bbox", "0,0,10,10"))
	w.put("empty", store.Feature{ID: "x", Geometry: orb.Point{7, 7}})
	if e := f.next("inside"); strings.Contains(e.data, `"area"`) {
		t.Errorf("%s", e.data)
	}
}

// A client that reconnects after each event gets each once, also where a feature leaves
// some areas and enters others.
func TestAreasOneByOne(t *testing.T) {
	w, s, end := openSite(t, t.TempDir())
	defer end()
	f := followAreas(t, s.Client(), s.URL+emptyEvents, fences)
	f.next("progress")
	for _, g := range []store.Feature{
		at("bus", 5, 4.99, `{"speed":60}`), at("bus", 1, 1, `{"speed":60}`), at("bus", 5.5, 4.99, `{"speed":95}`), at("bus", 90, 45, `{"speed":95}`), at("bus", 1, 1, `{}`),
	} {
		w.put("empty", g)
	}
	var want, ids []string
	for range 15 {
		want, ids = append(want, f.told(1)...), append(ids, f.last)
	}
	f.close()
	for i, id := range ids[:len(ids)-1] {
		f := followAreas(t, s.Client(), s.URL+emptyEvents, fences, "Last-Event-ID: "+id)
		if got := f.told(len(ids) - 1 - i); !slices.Equal(got, want[i+1:]) {
			t.Errorf("after %s, %s: %q, want %q", want[i], id, got, want[i+1:])
		}
		f.close()
	}
}

func TestBadAreas(t *testing.T) {
	w := newSite(t, Options{MaxAnswerBytes: 40 << 20})
	in := func(area string) string { return `{"areas":[` + area + `]}` }
	for _, c := range []struct {
		body   string
		status int
		says   string
	}{
		{``, 400, "want an object"}, {`null`, 400, "want an object"}, {`[]`, 400, "object"}, {`{"areas":[]}`, 400, "0 areas"}, {`{"area":[]}`, 400, `"area"`},
		{in(`{"bbox":[0,0,1,1]}`), 400, "a name of 1 to 128"},
		{in(`{"name":"` + strings.Repeat("x", 129) + `","bbox":[0,0,1,1]}`), 400, "a name of 1 to 128"},
		{in(`{"name":"a"}`), 400, `area "a": want either bbox`},
		{in(`{"name":"a","bbox":[0,0,1,1],"point":[1,1],"radius":5}`), 400, "want either bbox"},
		{in(`{"name":"a","bbox":[0,0,1]}`), 400, "3 numbers"},
		{in(`{"name":"a","bbox":[0,0,1,100]}`), 400, "a latitude is out of range"},
		{in(`{"name":"a","bbox":[0,0,1,1],"radius":5}`), 400, "radius is for a point"},
		{in(`{"name":"a","point":[1,1]}`), 400, "metres above 0"},
		{in(`{"name":"a","point":[1,1,1],"radius":5}`), 400, "metres above 0"},
		{in(`{"name":"a","point":[1,91],"radius":5}`), 400, "point [1 91]"},
		{in(`{"name":"a","geometry":{"type":"Point","coordinates":[1,1]}}`), 400, "want a Polygon"},
		{in(`{"name":"a","geometry":{"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0],[0,1],[0,0]]]}}`), 422, `area "a"`},
		{in(`{"name":"a","bbox":[0,0,1,1],"filter":"colour = "}`), 400, "filter"},
		{in(`{"name":"a","bbox":[0,0,1,1],"filter":7}`), 400, `area "a"`},
		{in(`{"name":"a","bbox":[0,0,1,1],"colour":7}`), 400, "colour"},
		{in(`{"name":"a","bbox":[0,0,1,1]},{"name":"a","bbox":[0,0,1,1]}`), 400, "two of that name"},
		{in(strings.Repeat(`{"name":"a","bbox":[0,0,1,1]},`, 10_001) + `{}`), 400, "10002 areas, want 1 to 10000"},
	} {
		if p := w.problem(w.do("POST", emptyEvents, c.body, asJSON), c.status); !strings.Contains(p.Detail, c.says) {
			t.Errorf("%.100s: %s, want %q", c.body, p.Detail, c.says)
		}
	}
	for query, says := range map[string]string{
		"areas=": `no name`, "areas=a": "no name", "areas=a:": "is no number", "areas=a:1,2": "2 numbers", "areas=a:1,2,x": `"x" is no number`,
		"areas=:1,2,3": "a name of 1 to 128", "areas=a:1,2,3;": "no name", "areas=a:1,2,3;a:1,2,3": "two of that name",
		"areas=a:1,2,-3": "metres above 0", "areas=a:1,2,3&bbox=0,0,1,1": "either bbox or areas", "areas=a:NaN,2,3": "no number", "areas=a:1,2,Inf": "no number", "areas=a:181,2,3": "in degrees",
	} {
		if p := w.problem(w.get(emptyEvents+"?"+strings.ReplaceAll(query, ";", "%3B")), http.StatusBadRequest); !strings.Contains(p.Detail, says) {
			t.Errorf("%s: %s, want %q", query, p.Detail, says)
		}
	}
	w.problem(w.do("POST", emptyEvents, fences, "Content-Type: text/plain"), http.StatusUnsupportedMediaType)
	if u := w.answers.Use(); u.Used != 0 {
		t.Errorf("%+v", u)
	}
}

// The memory of areas is counted, and released.
func TestAreasAreCounted(t *testing.T) {
	w := newSite(t, Options{MaxAnswerBytes: 1 << 20})
	var all []string
	for i := range 1000 {
		all = append(all, fmt.Sprintf(`{"name":"%d","bbox":[0,0,1,1]}`, i))
	}
	w.problem(w.do("POST", emptyEvents, `{"areas":[`+strings.Join(all, ",")+`]}`, asJSON), http.StatusServiceUnavailable)
	if u := w.answers.Use(); u.Used != 0 || u.Refused == 0 {
		t.Errorf("%+v", u)
	}
}

// A fence can be followed before the first vehicle exists: its filter names a property
// that no feature has so far.
func TestAreasOfLaterProperties(t *testing.T) {
	w := newSite(t, Options{})
	s := w.serveTest(t)
	f := follow(t, s.Client(), eventsOf(s, "filter", "speed > 30"))
	f.next("progress")
	named := followAreas(t, s.Client(), s.URL+emptyEvents, `{"areas":[{"name":"depot","bbox":[0,0,10,10],"filter":"speed > 30"}]}`)
	named.next("progress")
	w.put("empty", at("slow", 1, 1, `{"speed":20}`))
	w.put("empty", at("fast", 1, 1, `{"speed":40}`))
	if got := f.told(1); got[0] != "enter fast " {
		t.Errorf("%q", got)
	}
	if got := named.told(1); got[0] != "enter fast depot" {
		t.Errorf("%q", got)
	}
}
