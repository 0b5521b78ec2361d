package peers

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// keys are the keys by which rows can be chosen, with their values. A key does
// not affect rows that lack it.
var keys = map[string][]string{
	"data":  {"uniform", "skewed", "rea02-like", "andorra"},
	"build": {"insert", "load"},
	"op": {"insert", "load", "memory", "search", "nearest", "delete",
		"search-beside-writer"},
	"scale": scales,
}

// filter chooses rows: per key the wanted values, all if it has none.
type filter map[string][]string

// parseFilter reads terms such as "op=search,nearest data=uniform". Terms
// of one key must all hold, so a script can narrow what a user asked for.
// "." is everything, as for go test.
func parseFilter(s string) (filter, error) {
	f := filter{}
	for _, term := range strings.Fields(s) {
		if term == "." {
			continue
		}
		key, list, ok := strings.Cut(term, "=")
		if !ok || keys[key] == nil {
			return nil, fmt.Errorf("%q: want KEY=VALUE,... with a key of data, build, op, scale", term)
		}
		values := strings.Split(list, ",")
		for _, v := range values {
			if !slices.Contains(keys[key], v) {
				return nil, fmt.Errorf("%q: value %q, want some of %s",
					term, v, strings.Join(keys[key], ","))
			}
		}
		if old, ok := f[key]; ok {
			values = slices.DeleteFunc(values, func(v string) bool { return !slices.Contains(old, v) })
		}
		f[key] = values
	}
	return f, nil
}

func (f filter) wants(key, value string) bool {
	values, ok := f[key]
	return !ok || slices.Contains(values, value)
}

// none reports whether no row can be wanted.
func (f filter) none() bool {
	for _, values := range f {
		if len(values) == 0 {
			return true
		}
	}
	return false
}

// peersWanted returns catfish and the peers that CATFISH_BENCH_PEERS
// names, all if it is empty.
func peersWanted() ([]Peer, error) {
	all := All()
	s := os.Getenv("CATFISH_BENCH_PEERS")
	if s == "" {
		return all, nil
	}
	wanted := all[:1:1]
	for _, name := range strings.Split(s, ",") {
		i := slices.IndexFunc(all, func(p Peer) bool { return p.Name == name })
		if i < 0 {
			names := make([]string, len(all))
			for j, p := range all {
				names[j] = p.Name
			}
			return nil, fmt.Errorf("CATFISH_BENCH_PEERS: no peer %q in this build, which has %s",
				name, strings.Join(names, ","))
		}
		if i > 0 {
			wanted = append(wanted, all[i])
		}
	}
	return wanted, nil
}

func TestParseFilter(t *testing.T) {
	f, err := parseFilter("op=search,nearest . op=search,memory data=skewed")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key, value string
		want       bool
	}{
		{"op", "search", true},
		{"op", "nearest", false},
		{"op", "memory", false},
		{"data", "skewed", true},
		{"data", "uniform", false},
		{"scale", "1e-5", true},
	} {
		if got := f.wants(c.key, c.value); got != c.want {
			t.Errorf("wants(%q, %q) is %v, want %v", c.key, c.value, got, c.want)
		}
	}
	for _, bad := range []string{"search", "ops=search", "op=serch", "op="} {
		if _, err := parseFilter(bad); err == nil {
			t.Errorf("parseFilter(%q) gives no error", bad)
		}
	}
}
