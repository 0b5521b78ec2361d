package main

import (
	"strings"
	"testing"
)

const sample = `# cpu: some
goos: linux
BenchmarkTree/data=uniform/op=search/impl=catfish     	 100	  50.0 ns/op	 0.1 results/op
BenchmarkTree/data=uniform/op=search/impl=tidwall     	 100	 100.0 ns/op	 0.1 results/op
BenchmarkTree/data=uniform/op=search/impl=boost-rstar16 	 100	 40.0 ns/op	 0.1 results/op
BenchmarkTree/data=uniform/op=load/impl=catfish-2 	 1	 7 ns/object	 51.5 core-%
# cpu: some
BenchmarkTree/data=uniform/op=search/impl=catfish     	 100	  70.0 ns/op	 0.1 results/op
BenchmarkTree/data=uniform/op=search/impl=tidwall     	 100	 100.0 ns/op	 0.1 results/op
PASS
`

func TestTable(t *testing.T) {
	tab, err := parse(strings.NewReader(sample))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	tab.print(&out)
	for _, want := range []string{
		"data=uniform/op=search  ns/op      60       100      40             0.600 [0.500, 0.700]  1.500 boost-rstar16",
		"! Something else ran on the core",
		"data=uniform/op=load !  ns/object  3.605    -        -              -                     -",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
	if got := strings.Count(out.String(), "# cpu"); got != 1 {
		t.Errorf("%d lines name the processor, want 1", got)
	}
}

func TestParseErrors(t *testing.T) {
	for in, want := range map[string]string{
		"PASS\n":                         "no results",
		"BenchmarkTree/op=x 1 5 ns/op\n": "no impl=",
		"BenchmarkTree/op=a/impl=x 1 5 widgets\n":                                      "no value in",
		"BenchmarkTree/op=a/impl=x 1 5 ns/op\nBenchmarkTree/op=a/impl=x 1 5 B/entry\n": "before in",
	} {
		if _, err := parse(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parse(%q): %v, want %q", in, err, want)
		}
	}
}
