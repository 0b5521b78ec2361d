package affinity

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// pinnedArg makes this test binary a process that pins itself and reports
// its cores.
const pinnedArg = "pin-and-report="

func TestMain(m *testing.M) {
	if list, ok := strings.CutPrefix(os.Args[len(os.Args)-1], startArg); ok {
		if err := pinAndStart(list); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if list, ok := strings.CutPrefix(os.Args[len(os.Args)-1], pinnedArg); ok {
		set, err := Parse(list)
		if err == nil {
			err = Reexec(set)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		avail, _ := Available()
		fmt.Printf("%s %d\n", avail, runtime.NumCPU())
		return
	}
	os.Exit(m.Run())
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Set
		out  string
	}{
		{"", nil, ""},
		{"0", Set{0}, "0"},
		{" 3 , 1 ", Set{1, 3}, "1,3"},
		{"0-3", Set{0, 1, 2, 3}, "0-3"},
		{"0-1", Set{0, 1}, "0,1"},
		{"5,0-2,1-3", Set{0, 1, 2, 3, 5}, "0-3,5"},
		{"1023", Set{1023}, "1023"},
	} {
		got, err := Parse(c.in)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("Parse(%q) = %v, %v; want %v", c.in, got, err, c.want)
		}
		if got.String() != c.out {
			t.Errorf("Parse(%q).String() = %q, want %q", c.in, got, c.out)
		}
	}
}

func TestParseBad(t *testing.T) {
	for _, in := range []string{
		",", "a", "1,", "-1", "3-1", "0-", "1-x", "1024", "0-9999999999",
		"99999999999999999999", "1;2",
	} {
		got, err := Parse(in)
		if !errors.Is(err, ErrBadList) || !strings.Contains(err.Error(), in) {
			t.Errorf("Parse(%q) = %v, %v; want ErrBadList naming it", in, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "0", "0-2,5", "3,1", "9-1", "1-", "-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		s, err := Parse(list)
		if err != nil {
			return
		}
		if again, err := Parse(s.String()); err != nil || !slices.Equal(s, again) {
			t.Fatalf("%q: %v became %v, %v", list, s, again, err)
		}
	})
}

func TestReexec(t *testing.T) {
	avail, err := Available()
	if err != nil || len(avail) == 0 {
		t.Fatalf("Available() = %v, %v", avail, err)
	}
	if err := Reexec(nil); err != nil {
		t.Errorf("Reexec of the empty set: %v", err)
	}
	if runtime.GOOS != "linux" {
		if err := Reexec(avail); !errors.Is(err, ErrUnsupported) {
			t.Errorf("Reexec(%v) = %v, want ErrUnsupported", avail, err)
		}
		return
	}
	if err := Reexec(avail); err != nil {
		t.Errorf("Reexec of the mask in force: %v", err)
	}
	if err := Reexec(Set{MaxCPU}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("Reexec(%d) = %v, want ErrUnavailable", MaxCPU, err)
	}
	for _, c := range avail {
		want := fmt.Sprintf("%d 1\n", c)
		out, err := exec.Command(os.Args[0],
			fmt.Sprintf("%s%d", pinnedArg, c)).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("pinned to %d: saw %q (%v), want %q", c, out, err, want)
		}
	}
}

// TestSplit: given sets stay, and chosen ones do not overlap.
func TestSplit(t *testing.T) {
	avail, err := Available()
	if err != nil {
		t.Fatal(err)
	}
	s, c, err := Split(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(avail) > 1 && (!slices.Equal(s, avail[:1]) || !slices.Equal(c, avail[1:])) || len(avail) == 1 && len(s)+len(c) > 0 {
		t.Errorf("of %v: %v and %v", avail, s, c)
	}
	if s, c, err = Split(Set{5}, Set{3, 4}); err != nil || !slices.Equal(s, Set{5}) || !slices.Equal(c, Set{3, 4}) {
		t.Errorf("%v and %v, %v", s, c, err)
	}
}
