package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// repeatedCSV has 1,500 rows of 700 ids: row i, on line i+2, has id i mod 700.
func repeatedCSV() string {
	var b strings.Builder
	b.WriteString("ident,lon,lat,n\n")
	for i := range 1500 {
		fmt.Fprintf(&b, "i%d,1,2,%d\n", i%700, i)
	}
	return b.String()
}

// TestLoadRepeatedIDs: load counts the features that it created and replaced, and names
// the first record that replaced one. The last record of an id stays, by every
// transport.
func TestLoadRepeatedIDs(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	csv := clitest.File(t, "navaids.csv", repeatedCSV())
	for _, transport := range []string{"shm", "soft", "tcp"} {
		load := []string{"load", csv, "-s", addr, "-c", transport, "--transport", transport, "--id", "ident"}
		code, out, says := clitest.Program(t, append(load, "--json")...)
		got := clitest.Decode[loadedJSON](t, out)
		if code != ExitOK || got.Read != 1500 || got.Loaded != 1500 || *got.New != 700 || *got.Replaced != 800 || got.Bad != 0 {
			t.Errorf("%s: exit %d, %s", transport, code, out)
		}
		if f := got.FirstReplaced; f == nil || f.ID != "i0" || f.Line != 702 || f.File != csv {
			t.Errorf("%s: first %+v", transport, f)
		}
		if !strings.Contains(says, `800 of 1500 records took the place of a feature with the same id; the first of all is id "i0" at `+csv+": line 702") {
			t.Errorf("%s says %s", transport, says)
		}
		for _, last := range []string{"i0", "i99", "i100", "i699"} {
			n := map[string]int{"i0": 1400, "i99": 1499, "i100": 800, "i699": 1399}[last]
			if got := clitest.Succeed(t, "get", last, "-s", addr, "-c", transport); !strings.Contains(got, fmt.Sprintf(`"n":%d}`, n)) {
				t.Errorf("%s: %s is %s, want row %d", transport, last, got, n)
			}
		}
		want := fmt.Sprintf("loaded 1500 features into %s: 1500 read, 0 new, 1500 took the place of a feature with the same id, the first id \"i0\" at %s: line 2\n", transport, csv)
		if out := clitest.Succeed(t, load...); out != want {
			t.Errorf("again: %s", out)
		}
	}
	// Without repeated ids load prints nothing about them.
	one := clitest.File(t, "one.csv", "ident,lon,lat\na,1,2\nb,1,2\n")
	code, out, says := clitest.Program(t, at(addr, "load", one, "--id", "ident")...)
	if code != ExitOK || out != "loaded 2 features into cafes\n" || strings.Contains(says, "same id") {
		t.Errorf("exit %d, %s%s", code, out, says)
	}
	got := clitest.Decode[loadedJSON](t, clitest.Succeed(t, "load", one, "-s", addr, "-c", "one", "--id", "ident", "--json"))
	if got.FirstReplaced != nil || *got.New != 2 || *got.Replaced != 0 {
		t.Errorf("%+v", got)
	}
}

// TestLoadUnique: with --unique the first record with an existing id ends the load, and
// replaces nothing, whether another record or the collection had the id.
func TestLoadUnique(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	csv := clitest.File(t, "navaids.csv", repeatedCSV())
	clitest.Fail(t, ExitFailure, at(addr, "load", csv, "--id", "ident", "--unique"), "not unique", `id "i0" at `+csv+": line 702", "features were stored before that, and stay")
	for range 2 {
		if got := clitest.Succeed(t, at(addr, "get", "i0")...); !strings.Contains(got, `"n":0}`) {
			t.Errorf("i0 is %s", got)
		}
		few := clitest.File(t, "few.csv", "ident,lon,lat\nnew,1,2\ni0,3,4\n")
		clitest.Fail(t, ExitFailure, at(addr, "load", few, "--id", "ident", "--unique"), "not unique", "few.csv: line ")
	}
	clitest.Succeed(t, at(addr, "load", clitest.File(t, "others.csv", "ident,lon,lat\nx,1,2\ny,3,4\n"), "--id", "ident", "--unique")...)
}

// TestServeLoadRepeatedIDs: a loading server reports what it replaced, or refuses.
func TestServeLoadRepeatedIDs(t *testing.T) {
	csv := clitest.File(t, "navaids.csv", repeatedCSV())
	p, _, _ := clitest.Serve(t, "--features", "navaids", "--load", csv, "--id", "ident")
	p.Interrupt(t)
	if says := p.ErrOut.String(); !strings.Contains(says, "800 of 1500 records") || !strings.Contains(says, "line 702") {
		t.Errorf("serve says %s", says)
	}
	clitest.Fail(t, ExitFailure, []string{"serve", "--listen", "127.0.0.1:0", "--features", "navaids", "--load", csv, "--id", "ident", "--unique"}, "not unique", "line 702")
}
