package cli

import (
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/rstar"
)

// A collection is planned from files, or from flags alone.
func TestPlanBoxes(t *testing.T) {
	rows := strings.Builder{}
	rows.WriteString("id,minx,miny,maxx,maxy\n")
	for range 50 {
		rows.WriteString("1,0,0,1,1\n2,9,0,12,2\n") // two places, boxes of two sizes
	}
	file := clitest.File(t, "boxes.csv", rows.String())
	m, err := placement.New([]placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	all := "-180,-90,180,90"
	for what, c := range map[string]struct {
		p       placing
		world   string
		largest [2]string // of each range
	}{
		"a file":            {placing{files: []string{file}}, "0,0,12,2", [2]string{"1 x 1", "3 x 2"}},
		"two files":         {placing{files: []string{file, file}, world: all}, all, [2]string{"1 x 1", "3 x 2"}},
		"a size":            {placing{files: []string{file}, largest: "4,5"}, "0,0,12,2", [2]string{"4 x 5", "4 x 5"}},
		"any size":          {placing{files: []string{file}, largest: "any"}, "0,0,12,2", [2]string{}},
		"nothing":           {placing{}, all, [2]string{}},
		"flags alone":       {placing{world: "0,0,1,1", largest: "0,0"}, "0,0,1,1", [2]string{"0 x 0", "0 x 0"}},
		"a world elsewhere": {placing{files: []string{file}, world: "0,0,11,1"}, "0,0,11,1", [2]string{"1 x 1", "3 x 2"}},
	} {
		c.p.sources.memory = 1 << 20
		add, err := c.p.plan(t.Context(), &App{Err: io.Discard}, "roads")
		if err != nil {
			t.Fatal(what, err)
		}
		placed, err := add(m)
		if err != nil {
			t.Fatal(what, err)
		}
		if again, err := add(m); err != nil || !reflect.DeepEqual(again.Boxes, placed.Boxes) {
			t.Errorf("%s: after a conflict %+v, %v, want %+v", what, again.Boxes, err, placed.Boxes)
		}
		b := clusterBoxes(placed, curveOf(placed, "roads"))
		world, err := parseRect("world", c.world)
		if err != nil {
			t.Fatal(err)
		}
		text := b.text()
		if b.World != rectJSON(world) || len(b.Ranges) != 2 || !strings.HasPrefix(text, "boxes roads: group a from 0.000 of the curve") {
			t.Errorf("%s: %+v, %s", what, b, text)
		}
		for i, r := range b.Ranges {
			want := ", at most " + c.largest[i]
			if c.largest[i] == "" && r.Largest != nil || c.largest[i] != "" && (r.Largest == nil || !strings.Contains(text, want)) {
				t.Errorf("%s: range %d: %+v, want %s", what, i, r, want)
			}
		}
		if l := clusterMap(placed); len(l.Boxes) != 1 || !strings.Contains(l.text(), text) {
			t.Errorf("%s: %s", what, l.text())
		}
		for _, r := range []rstar.Rect{{MaxX: 1, MaxY: 1}, {MinX: 9, MaxX: 12, MaxY: 2}} {
			if err := placed.FitsBox("roads", r); err != nil && c.p.largest != "0,0" {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	for _, args := range [][]string{
		{"roads", "--largest", "1"}, {"roads", "--largest=-1,1"}, {"roads", "--world", "1,1,0,0"}, {"ro/ads"}, {}, {"roads"},
	} {
		clitest.Fail(t, 2, append([]string{"cluster", "boxes"}, args...))
	}
	clitest.Fail(t, 1, []string{"cluster", "boxes", "roads", "none.csv", "--coordinators", "127.0.0.1:1"}, "none.csv")
}
