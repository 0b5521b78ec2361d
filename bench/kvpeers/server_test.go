//go:build linux

package kvpeers

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/kv"
)

func nothing(string) {}

func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, name := range Schemes() {
		_, err := StartServer(t.Context(), kv.ServerJob{Scheme: name}, nothing)
		if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "apt-get install") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"redis", "redis-pigeon", "dynamo-unix", ""} {
		if _, err := StartServer(t.Context(), kv.ServerJob{Scheme: name}, nothing); !errors.Is(err, ErrScheme) {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := Dial(t.Context(), kv.ClientJob{Scheme: name}); !errors.Is(err, ErrScheme) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestParseStat(t *testing.T) {
	const stat = "123 (a ) b (c) S 1 123 123 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 1 0 1 2 3"
	if got, err := parseStat([]byte(stat)); err != nil || got != 3*time.Second {
		t.Error(got, err)
	}
	for _, bad := range []string{"", "1 (x) S", strings.Replace(stat, "250", "x", 1)} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
