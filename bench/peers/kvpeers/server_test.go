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
	for _, name := range Schemes("") {
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

// Redis keeps its log if the job says so, and memcached keeps nothing.
func TestSync(t *testing.T) {
	for sync, want := range map[string]string{"": "--appendonly no", kv.SyncAlways: "--appendonly yes --appendfsync always", kv.SyncOff: "--appendonly yes --appendfsync no"} {
		if args := strings.Join(redisArgs(place{network: TCP, dir: "d", port: "1"}, kv.ServerJob{Sync: sync}), " "); !strings.Contains(args, want) {
			t.Errorf("%q: %s", sync, args)
		}
	}
	_, err := StartServer(t.Context(), kv.ServerJob{Scheme: "memcached-tcp", Sync: kv.SyncAlways}, nil)
	if !errors.Is(err, ErrScheme) {
		t.Error(err)
	}
}
