//go:build linux

package rounds

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/netns"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/history"
)

// childArg makes this test binary a process of clients.
const childArg = "clients-process"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == childArg {
		if err := UsersMain(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// built returns a directory with the programs.
func built(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for module, program := range map[string]string{"../..": "catfish", "../../coordinator": "catfish-coordinator"} {
		c := exec.Command("go", "build", "-C", module, "-o", filepath.Join(dir, program), "./cmd/"+program)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return dir
}

// A group survives the loss of its primary, and clients notice no more than they may. make
// test-rounds has all faults.
func TestRounds(t *testing.T) {
	if err := netns.SwitchAvailable(t.Context()); err != nil {
		if os.Getenv("CATFISH_NO_SKIP") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	faults, err := Choose([]string{"cut-primary"})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Bin: built(t), Program: []string{self, childArg}, Faults: faults, Fenced: true}
	missing, err := o.Prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range missing {
		t.Log("not here: ", m)
	}
	for seed := range uint64(len(faults)) {
		p := NewPlan(seed, faults, 1)
		t.Run(p.Fault.Name, func(t *testing.T) {
			r, err := Run(t.Context(), o, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range r.Broken {
				t.Errorf("%s: %s", p.String(), b)
			}
			if r.Acked == 0 || r.Events == 0 || r.Gap == 0 {
				t.Errorf("%+v", r)
			}
			for _, path := range paths {
				if r.Reads[path] == 0 {
					t.Errorf("no reads by path %s: %v", path, r.Reads)
				}
			}
		})
	}
	if names, err := filepath.Glob(filepath.Join(os.TempDir(), "catfish-rounds*")); err != nil || len(names) > 0 {
		t.Logf("directories of rounds that run now, or are left: %q, %v", names, err)
	}
}

// A seed gives the same round again, and seeds that follow each other all faults.
func TestPlan(t *testing.T) {
	all := Faults()
	names := map[string]bool{}
	for seed := range uint64(len(all)) {
		p, q := NewPlan(seed, all, 1), NewPlan(seed, all, 1)
		if p.String() != q.String() || p.Pick != q.Pick {
			t.Errorf("%v, then %v", p.String(), q.String())
		}
		names[p.Fault.Name] = true
		if p.Fault.network && p.Transport != catfish.TransportSoft {
			t.Errorf("%s: shared memory goes around the network", p.String())
		}
		if p.Hold < shortestHold || p.Hold > 2*shortestHold {
			t.Errorf("%s: it lasts %v", p.String(), p.Hold)
		}
	}
	if len(names) != len(all) {
		t.Errorf("%d faults of %d", len(names), len(all))
	}
	if _, err := Choose([]string{"flood"}); err == nil || !strings.Contains(err.Error(), "flood") || !strings.Contains(err.Error(), "kill-primary") {
		t.Errorf("a fault that there is not: %v", err)
	}
}

func put(key int, value uint64, call, end int64) Op {
	return Op{KeyOp: history.KeyOp{Key: key, Value: value, Call: call, End: end}, Revision: value}
}

func read(path string, value uint64, call, end int64) Op {
	return Op{KeyOp: history.KeyOp{Read: true, Value: value, Call: call, End: end}, Path: path}
}

func unknown(o Op) Op {
	o.Outcome, o.Revision = history.Unknown, 0
	return o
}

// A read is stale only if no order of the writes explains it.
func TestStaleReads(t *testing.T) {
	first, second := put(0, 1, 10, 20), put(0, 2, 30, 40)
	for name, c := range map[string]struct {
		ops   []Op
		stale bool
		says  string
	}{
		"the latest":                    {[]Op{first, second, read(pathTCP, 2, 50, 60)}, false, ""},
		"the one before":                {[]Op{first, second, read(pathTCP, 1, 50, 60)}, true, ""},
		"the one before, beside it":     {[]Op{first, second, read(pathTCP, 1, 39, 60)}, false, ""},
		"nothing, before all":           {[]Op{first, second, read(pathTCP, 0, 15, 60)}, false, ""},
		"nothing, too late":             {[]Op{first, second, read(pathTCP, 0, 21, 60)}, true, ""},
		"before one that may not be":    {[]Op{first, unknown(second), read(pathTCP, 1, 50, 60)}, false, ""},
		"one that may be late":          {[]Op{unknown(first), second, read(pathTCP, 1, 50, 60)}, false, ""},
		"at a secondary":                {[]Op{first, second, read(pathSecondary, 1, 50, 60)}, false, ""},
		"of nobody":                     {[]Op{first, second, read(pathSecondary, 3, 50, 60)}, false, "nobody"},
		"of a write that comes after":   {[]Op{first, second, read(pathSecondary, 2, 5, 6)}, false, "nobody"},
		"nothing, of a key never there": {[]Op{read(pathTCP, 0, 50, 60)}, false, ""},
	} {
		stale, broken := staleReads(c.ops)
		if (len(stale) > 0) != c.stale || (len(broken) > 0) != (c.says != "") || c.says != "" && !strings.Contains(broken[0], c.says) {
			t.Errorf("%s: stale %v, %q", name, stale, broken)
		}
	}
}

// A watcher must get each acknowledged write once, in order.
func TestWrongEvents(t *testing.T) {
	ops := []Op{put(0, 1, 10, 20), put(0, 2, 30, 40), unknown(put(0, 9, 41, 42)), put(1, 3, 50, 60)}
	all := []Event{{Key: standing}, {Key: 0, Value: 1, Revision: 1}, {Key: 0, Value: 2, Revision: 2}, {Key: 1, Value: 3, Revision: 3}, {Key: lastWrite, Revision: 4}}
	perhaps := slices.Insert(slices.Clone(all), 3, Event{Key: 0, Value: 9, Revision: 2})
	perhaps[4].Revision, ops[3].Revision = 5, 5
	perhaps[3].Revision, perhaps[5].Revision = 4, 6
	if w := wrongEvents(perhaps, ops); len(w) > 0 {
		t.Errorf("with a write of unknown outcome: %q", w)
	}
	ops[3].Revision = 3
	if w := wrongEvents(all, ops); len(w) > 0 {
		t.Errorf("right events: %q", w)
	}
	late := slices.Clone(all)
	late[0].Revision = 1
	if w := wrongEvents(slices.Delete(late, 1, 2), ops); len(w) > 0 {
		t.Errorf("without what came before it stood: %q", w)
	}
	for name, events := range map[string][]Event{
		"none at all": nil,
		"one less":    slices.Delete(slices.Clone(all), 2, 3),
		"one twice":   slices.Insert(slices.Clone(all), 2, all[1]),
		"in disorder": {all[0], all[2], all[1], all[3], all[4]},
		"another":     slices.Insert(slices.Clone(all), 4, Event{Key: 1, Value: 7, Revision: 4}),
	} {
		if len(wrongEvents(events, ops)) == 0 {
			t.Errorf("%s: not noticed", name)
		}
	}
}

// judged is what check finds in a round of some boxes and contents.
func judged(boxes []Box, contents ...Contents) *Result {
	r := &round{o: &Options{}, said: &record{boxes: boxes, contents: contents}}
	r.checkBoxes()
	r.checkContents()
	return &r.result
}

func TestCheckBoxes(t *testing.T) {
	boxes := []Box{{ID: 1}, {ID: 2}, {ID: 3, Outcome: history.Unknown}}
	for name, c := range map[string]struct {
		ids           []uint64
		lost, doubled int
		broken        bool
	}{
		"without the unknown": {[]uint64{1, 2}, 0, 0, false},
		"with the unknown":    {[]uint64{1, 2, 3}, 0, 0, false},
		"one lost":            {[]uint64{1}, 1, 0, true},
		"one doubled":         {[]uint64{1, 2, 2}, 0, 1, true},
		"the unknown twice":   {[]uint64{1, 2, 3, 3}, 0, 1, true},
		"one of nobody":       {[]uint64{1, 2, 4}, 0, 0, true},
	} {
		r := judged(boxes, Contents{Boxes: c.ids})
		if r.Lost != c.lost || r.Doubled != c.doubled || (len(r.Broken) > 0) != c.broken {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := judged(boxes); len(r.Broken) == 0 {
		t.Error("that nobody reads is not noticed")
	}
}

func TestCheckContents(t *testing.T) {
	at := func(node string, value uint64) Contents { return Contents{Node: node, Keys: map[int]uint64{0: value}} }
	failed := at("n2", 1)
	failed.Error = errors.ErrUnsupported.Error()
	for name, c := range map[string]struct {
		contents []Contents
		broken   bool
	}{
		"the same":         {[]Contents{at("", 1), at("n1", 1), at("n2", 1)}, false},
		"another":          {[]Contents{at("", 1), at("n1", 1), at("n2", 2)}, true},
		"one is not read":  {[]Contents{at("", 1), failed}, true},
		"after the switch": {[]Contents{at("", 1), at("n1", 1), at("", 2), at("n1", 2)}, false},
	} {
		if r := judged(nil, c.contents...); (len(r.Broken) > 0) != c.broken {
			t.Errorf("%s: %q", name, r.Broken)
		}
	}
}

func TestTable(t *testing.T) {
	list := Faults()[:2]
	all := []Result{
		{Fault: list[0].Name, Acked: 10, Gap: 100 * time.Millisecond, Stale: map[string]int{pathOneSided: 3}},
		{Fault: list[0].Name, Acked: 20, Gap: 300 * time.Millisecond, Lost: 1, Broken: []string{"x"}},
	}
	var b strings.Builder
	if err := WriteTable(&b, list, all); err != nil {
		t.Fatal(err)
	}
	want := "| " + list[0].What + " | 2 | 30 | 1 | 0 | 0 | 0, 3, 0, 0 | 300 ms, 300 ms | 1 |\n"
	if !strings.Contains(b.String(), want) || strings.Contains(b.String(), list[1].What) || !strings.Contains(b.String(), "| all | 2 |") {
		t.Errorf("%s\nwants %s", b.String(), want)
	}
	if g := longestGap([]int64{50, 10, 20, 90}, 60); g != 40 {
		t.Errorf("a gap of %d, want 40", g)
	}
}
