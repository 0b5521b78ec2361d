package docs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/report"
	"github.com/catfish-index/catfish/bench/store"
)

var here = Settings{Commit: "abc"}

// fake answers commands like the programs, a second each.
type fake struct {
	now     time.Time
	asked   []string
	failAt  int // the command that fails, from 1
	missing bool
}

var errBroken = errors.New("broken")

func (f *fake) exec(_ context.Context, args []string) (string, error) {
	f.now = f.now.Add(time.Second)
	f.asked = append(f.asked, strings.Join(args, " "))
	if len(f.asked) == f.failAt {
		return "", errBroken
	}
	flag := func(name string) string {
		if i := slices.Index(args, "--"+name); i >= 0 {
			return args[i+1]
		}
		return "0"
	}
	switch {
	case args[0] == "make" && f.missing:
		return "", fmt.Errorf("make: %w", ErrMissing)
	case args[0] == "make":
		return "BenchmarkTree/op=search 1 ns/op\nrow  unit  catfish  tidwall  ratio  by the best\n" +
			"data=uniform/op=search  ns/op  100  200  0.500 [0.4, 0.6]  0.500 tidwall\n", nil
	case args[1] == "replay":
		by := "insert"
		if slices.Contains(args, "--bulk") {
			by = "bulk"
		}
		return fmt.Sprintf(`{"loaded_by":%q,"loaded":2000,"loaded_per_s":%d,"load_s":0.5}`, by, 1000*len(f.asked)), nil
	}
	var rows strings.Builder
	if args[2] == "idle" {
		for transport := range strings.SplitSeq(flag("transport"), ",") {
			fmt.Fprintf(&rows, `{"transport":%q,"policy":"fast","clients":%s,"client_procs":5,"server":{"memory_bytes":102400,`+
				`"descriptors":2,"cpu_at_rest":0.025,"cpu_with_heartbeats":0.05},"client":{"memory_bytes":2048}}`+"\n",
				transport, flag("clients"))
		}
		return rows.String(), nil
	}
	for scheme := range strings.SplitSeq(flag("scheme"), ",") {
		fmt.Fprintf(&rows, `{"scheme":%q,"clients":%s,"in_flight":%s,"batch":%s,"transport":%q,"mix":%q,"server_cpus":"0",`+
			`"ops_per_s":1234567,"p99_us":1500.25,"spread":{"ops_per_s":[1000000,2000000],"mean_us":[1,2]}}`+"\n",
			scheme, flag("clients"), flag("in-flight"), flag("batch"), flag("transport"), flag("mix"))
	}
	return rows.String(), nil
}

func run(t *testing.T, dir string, f *fake) (map[string]Result, map[string]string, error) {
	t.Helper()
	results, _, err := Open(dir, here, false)
	if err != nil {
		t.Fatal(err)
	}
	defer results.Close()
	r := Runner{
		Sizes: Full, Settings: here, Store: results, Exec: f.exec, Now: func() time.Time { return f.now },
		Begin: func(n, of int, s Step) {},
		End: func(n, of int, _ Step, took, left time.Duration) {
			if took != time.Second || left != time.Duration(of-n)*time.Second {
				t.Errorf("%d of %d took %v, left %v", n, of, took, left)
			}
		},
	}
	leftOut, err := r.Run(t.Context())
	return results.All(), leftOut, err
}

func page(t *testing.T, results map[string]Result, leftOut map[string]string) string {
	t.Helper()
	p := Page{Sizes: Full, Settings: here, Date: "2026-11-22", Results: results, LeftOut: leftOut}
	d, err := p.Document()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "docs", "page.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := report.WritePage(file, d); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The page has every benchmark with its commands and their results.
func TestPage(t *testing.T) {
	f := new(fake)
	results, leftOut, err := run(t, t.TempDir(), f)
	if err != nil || len(leftOut) > 0 || len(results) != len(f.asked) {
		t.Fatalf("%d results of %d commands, left out %v, %v", len(results), len(f.asked), leftOut, err)
	}
	text := page(t, results, nil)
	for _, b := range Benchmarks {
		if !strings.Contains(text, "\n## "+b.Title+"\n") {
			t.Errorf("no section %q", b.Title)
		}
	}
	flat := strings.ReplaceAll(text, " \\\n    ", " ")
	for _, want := range []string{
		"| commit | abc |", "| date | 2026-11-22 |", "server on core 0, clients on any core",
		"catfish bench run --scheme tcp,fast,offload,offload-cached,paper,cost --scale 1e-5 --transport shm" +
			" --clients 64 --in-flight 1 --objects 2000000 --warmup 700ms --duration 1s --repeat 3\n",
		"BENCH='data=uniform,andorra op=insert,delete,search,nearest,load' OBJECTS=",
		"| 64 | 1 | `cost` | shm | 1,234,567 (1,000,000 to 2,000,000) |", "1,500.2",
		"| soft | `fast` | 10,000 | the server | 100.0 | 2.00 | 0.00 | 2.5 % | 5.0 % |",
		"| shm | `fast` | 7,000 | the clients' 5 processes | 2.0 |",
		"catfish bench idle --transport shm --clients 7000 --duration 10s\n",
		"(plots/benchmarks-small.svg)", "| bulk | 2,000 |", " to ", "| searches a call |", "| restarts |",
		"| data=uniform/op=search | ns/op | 100 | 200 | 0.500 [0.4, 0.6] | 0.500 tidwall |",
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "    --") && len(line) > codeWidth+10 {
			t.Errorf("a long line of a command: %q", line)
		}
	}
	if strings.Contains(text, "Not ") || strings.Contains(flat, "--json") || strings.Contains(text, "BenchmarkTree") {
		t.Error("the page has what it must not")
	}
}

// A failed run continues from its last result, and its results so far make a page.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	broken := &fake{failAt: 5}
	results, _, err := run(t, dir, broken)
	if !errors.Is(err, errBroken) || len(results) != 4 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	if text := page(t, results, nil); !strings.Contains(text, "Not finished: 2 of 3 commands are missing.") ||
		strings.Count(text, "Not finished") != len(Benchmarks)-1 {
		t.Errorf("a page of four results: %d sections are not finished", strings.Count(text, "Not finished"))
	}
	rest := new(fake)
	all, _, err := run(t, dir, rest)
	if err != nil || len(rest.asked) != len(all)-4 {
		t.Errorf("asked %d for the rest of %d, %v", len(rest.asked), len(all), err)
	}
	if slices.ContainsFunc(rest.asked, func(c string) bool { return slices.Contains(broken.asked[:4], c) }) {
		t.Error("measured twice")
	}
	other := here
	other.Commit = "def"
	if _, _, err := Open(dir, other, false); !errors.Is(err, ErrSettings) {
		t.Errorf("another commit: %v", err)
	}
	results2, _, err := Open(dir, other, true)
	if err != nil || len(results2.All()) != 0 {
		t.Errorf("fresh: %v", err)
	}
	if _, _, err := Open(dir, other, true); !errors.Is(err, store.ErrBusy) {
		t.Errorf("beside another: %v", err)
	}
	results2.Close()
}

// A benchmark that cannot run is left out by name; an interrupted run ends.
func TestLeftOut(t *testing.T) {
	results, leftOut, err := run(t, t.TempDir(), &fake{missing: true})
	if err != nil || leftOut["tree"] == "" || len(leftOut) != 1 {
		t.Errorf("left out %v, %v", leftOut, err)
	}
	if text := page(t, results, leftOut); !strings.Contains(text, "Not measured: make: "+ErrMissing.Error()) {
		t.Error("the page does not say why")
	}
	ctx, cancel := context.WithCancel(t.Context())
	lines, _, err := Open(t.TempDir(), here, false)
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	r := Runner{
		Sizes: Quick, Store: lines, Begin: func(int, int, Step) {}, End: func(int, int, Step, time.Duration, time.Duration) {},
		Exec: func(context.Context, []string) (string, error) { cancel(); return "half", nil },
	}
	if _, err := r.Run(ctx); !errors.Is(err, context.Canceled) || len(lines.All()) != 0 {
		t.Errorf("interrupted: %v, kept %v", err, lines.All())
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"a  b":             {"a", "b"},
		"make X='y z' w=1": {"make", "X=y z", "w=1"},
		" '' a":            {"", "a"},
	} {
		if got := Words(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := thousands("1234567.5") + thousands("123") + thousands("1234"); got != "1,234,567.51231,234" {
		t.Error(got)
	}
}

// The text of docs/research/benchmarks.md around its tables, and its commands, are
// those that the program makes today. The tables are measured.
func TestPageIsFresh(t *testing.T) {
	results, _, err := run(t, t.TempDir(), new(fake))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(root + "/docs/research/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	unmeasured := func(text string) (lines []string) {
		for line := range strings.SplitSeq(text, "\n") {
			if !strings.HasPrefix(line, "|") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	want, got := unmeasured(page(t, results, nil)), unmeasured(string(kept))
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			t.Fatalf("line %d without tables: docs/research/benchmarks.md differs from what make bench-docs makes\n%q\n%q",
				i+1, got[min(i, len(got)-1)], want[min(i, len(want)-1)])
		}
	}
}
