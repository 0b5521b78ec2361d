package coordinator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
)

func start(t *testing.T, o Options) *Coordinator {
	t.Helper()
	o.NoSync = true
	c, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func client(t *testing.T, addrs ...string) *clientv3.Client {
	t.Helper()
	return secureClient(t, nil, addrs...)
}

func secureClient(t *testing.T, with *tls.Config, addrs ...string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: addrs, TLS: with, DialTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// What was decided is known after a restart in the same directory.
func TestRestart(t *testing.T) {
	o := Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"}
	c := start(t, o)
	if _, err := client(t, c.Addr()).Put(t.Context(), "k", "v"); err != nil {
		t.Fatal(err)
	}
	c.Close()
	got, err := client(t, start(t, o).Addr()).Get(t.Context(), "k")
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "v" {
		t.Fatalf("%v, %v", got, err)
	}
}

var peerAddrs sync.Map

// peerAddr is an address that no other test and no connection gets, although no coordinator
// listens there yet, or for a while: ports that Linux chooses begin at 32768.
func peerAddr(t *testing.T) string {
	t.Helper()
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000))
		if _, given := peerAddrs.LoadOrStore(addr, true); given {
			continue
		}
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
	t.Fatal("no port is free")
	return ""
}

// three starts as many, and returns their options, too. secure has their certificates, or
// nothing.
func three(t *testing.T, secure Options) (all [3]*Coordinator, of [3]Options) {
	t.Helper()
	var members []string
	for i := range of {
		members = append(members, fmt.Sprintf("c%d=%s", i, peerAddr(t)))
	}
	var g errgroup.Group
	for i := range all {
		name, addr, _ := strings.Cut(members[i], "=")
		of[i] = secure
		of[i].Dir, of[i].Listen, of[i].Name, of[i].PeerListen, of[i].Members, of[i].NoSync = t.TempDir(), "127.0.0.1:0", name, addr, members, true
		g.Go(func() (err error) {
			if all[i], err = Start(t.Context(), of[i]); err == nil {
				t.Cleanup(all[i].Close)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return all, of
}

// Three coordinators decide while one of them is missing.
func TestThreeSurviveTheLossOfOne(t *testing.T) {
	t.Parallel()
	all, _ := three(t, Options{})
	c := client(t, all[0].Addr(), all[1].Addr())
	if _, err := c.Put(t.Context(), "k", "1"); err != nil {
		t.Fatal(err)
	}
	all[2].Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := c.Put(ctx, "k", "2"); err != nil {
		t.Fatal(err)
	}
}

func TestBadOptions(t *testing.T) {
	for want, o := range map[string]Options{
		"no directory":      {Listen: "127.0.0.1:0"},
		"HOST:PORT":         {Dir: t.TempDir(), Listen: "here"},
		"NAME=HOST:PORT":    {Dir: t.TempDir(), Listen: "127.0.0.1:0", PeerListen: "127.0.0.1:0", Members: []string{"x"}},
		"not among":         {Dir: t.TempDir(), Listen: "127.0.0.1:0", Name: "b", PeerListen: "127.0.0.1:0", Members: []string{"a=127.0.0.1:1"}},
		"for them to reach": {Dir: t.TempDir(), Listen: "127.0.0.1:0", Members: []string{"c1=127.0.0.1:1"}},
		"but no members":    {Dir: t.TempDir(), Listen: "127.0.0.1:0", Replace: []string{"127.0.0.1:1"}},
		"all three or none": {Dir: t.TempDir(), Listen: "127.0.0.1:0", CertFile: "c.pem"},
	} {
		if _, err := Start(t.Context(), o); !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}
