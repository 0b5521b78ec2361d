package sim

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
)

// groupsOf is a workload of several groups.
func groupsOf(t *testing.T, groups int, placing Placing) *Workload {
	t.Helper()
	s := openCluster(t, "thismachine").Spec("rea02-like", 5000, "QR1", 1)
	s.Groups, s.Placing = groups, placing
	w, err := new(Cache).Get(s, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Groups have all objects between them, and a search finds in the groups that it asks what it
// finds in one.
func TestGroupsAnswerAsOne(t *testing.T) {
	one := groupsOf(t, 1, Boxes)
	for _, placing := range []Placing{Boxes, Features} {
		w := groupsOf(t, 4, placing)
		objects := 0
		for _, p := range w.parts {
			objects += p.Objects
		}
		if objects != one.Objects || w.Most() < 1 || w.Most() > 1.2 {
			t.Errorf("%s: %d of %d objects, the fullest has %v times the mean", placing, objects, one.Objects, w.Most())
		}
		for i := range one.searches {
			found, asked := uint32(0), 0
			for _, p := range w.parts {
				found += p.searches[i].results
				if p.searches[i].nodes > 0 {
					asked++
				}
			}
			if found != one.searches[i].results || placing == Features && asked != 4 {
				t.Fatalf("%s, search %d: %d results in %d groups, %d in one", placing, i, found, asked, one.searches[i].results)
			}
		}
		if placing == Boxes && (w.Asked < 1 || w.Asked > 2) || placing == Features && w.Asked != 4 {
			t.Errorf("%s: a search asks %v groups", placing, w.Asked)
		}
	}
}

// Each scheme serves several groups: no call is lost, by Little's law, and two runs are equal.
func TestGroupsOfEachScheme(t *testing.T) {
	w := groupsOf(t, 3, Features)
	for _, scheme := range []string{"tcp", "fast", "fast-polling", "fetch", "offload", "offload-single", "offload-cached", "paper", "cost"} {
		cfg := Config{Cluster: openCluster(t, "modern"), Scheme: scheme, Clients: 20, Duration: 2 * time.Millisecond, Warmup: time.Millisecond, Seed: 1}
		r, err := Run(t.Context(), cfg, w)
		if err != nil {
			t.Fatal(err)
		}
		if busy := r.OpsPerS * r.MeanUs / 1e6; busy < 19.5 || busy > 20.5 {
			t.Errorf("%s: %v calls under way, want 20", scheme, busy)
		}
		if found := r.Results; found < w.Results*0.8 || found > w.Results*1.2 {
			t.Errorf("%s: a search finds %v, want about %v", scheme, found, w.Results)
		}
		again, err := Run(t.Context(), cfg, w)
		r.Took, again.Took = 0, 0
		if err != nil || !reflect.DeepEqual(r, again) {
			t.Errorf("%s: two runs differ, %v:\n%+v\n%+v", scheme, err, r, again)
		}
	}
}

func TestGroupsErrors(t *testing.T) {
	good := openCluster(t, "paper").Spec("uniform", 100, "1e-5", 1)
	for says, change := range map[string]func(*Spec){
		"groups is 65, want 0 to 64":     func(s *Spec) { s.Groups = 65 },
		`placed as "x", want boxes or`:   func(s *Spec) { s.Placing = "x" },
		`scale "0deg", want more than 0`: func(s *Spec) { s.Scale = "0deg" },
		"has none of 2 objects":          func(s *Spec) { s.Objects, s.Groups = 2, 5 },
		`scale "deg", want more than 0d`: func(s *Spec) { s.Scale = "deg" },
	} {
		s := good
		change(&s)
		if _, err := new(Cache).Get(s, func(string) {}); !errors.Is(err, harness.ErrConfig) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v\n  does not say %q", err, says)
		}
	}
	cfg := Config{Cluster: openCluster(t, "paper"), Scheme: "fast", Clients: 4, Mix: [2]int{90, 10}, Duration: time.Millisecond}
	w := groupsOf(t, 2, Boxes)
	if _, err := Run(t.Context(), cfg, w); !errors.Is(err, harness.ErrConfig) || !strings.Contains(err.Error(), "10 % inserts in 2 groups") {
		t.Errorf("inserts: %v", err)
	}
}
