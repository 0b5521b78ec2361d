//go:build linux

package kvpeers

import (
	"errors"
	"strings"
	"testing"

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
