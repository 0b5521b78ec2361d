package coordinator

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/catfish-index/catfish/internal/certs"
	"github.com/catfish-index/catfish/internal/certs/certstest"
)

// One of three that has lost its directory is replaced by one with the same name, which has
// what was decided before, and decides with another one when the third is away.
func TestReplace(t *testing.T) {
	t.Parallel()
	ca := certstest.NewCA(t, t.TempDir(), "ca")
	cert, key := ca.Issue(t, "coordinator", 1)
	with, err := certs.Client(ca.File, cert, key)
	if err != nil {
		t.Fatal(err)
	}
	all, of := three(t, Options{CertFile: cert, KeyFile: key, CAFile: ca.File})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := secureClient(t, with, all[0].Addr()).Put(ctx, "k", "1"); err != nil {
		t.Fatal(err)
	}
	o := of[2]
	o.Dir, o.Replace = t.TempDir(), []string{all[0].Addr(), all[1].Addr()}
	if _, err := Start(ctx, o); !errors.Is(err, ErrAlive) {
		t.Fatalf("one that runs was replaced: %v", err)
	}
	all[2].Close()
	began := start(t, o)
	c := secureClient(t, with, began.Addr())
	got, err := c.Get(ctx, "k", clientv3.WithSerializable()) // its own copy
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "1" {
		t.Fatalf("%v, %v", got, err)
	}
	is, err := c.MemberList(ctx)
	if err != nil || len(is.Members) != 3 {
		t.Fatalf("%v, %v", is, err)
	}
	all[0].Close()
	if _, err := c.Put(ctx, "k", "2"); err != nil {
		t.Fatal(err)
	}
	// The same command starts it again: it has its directory now.
	began.Close()
	c = secureClient(t, with, start(t, o).Addr())
	if _, err := c.Put(ctx, "k", "3"); err != nil {
		t.Fatal(err)
	}
	if again, err := c.MemberList(ctx); err != nil || again.Header.MemberId != is.Header.MemberId || len(again.Members) != 3 {
		t.Errorf("%v, %v; before: %v", again, err, is)
	}
}

// An attempt continues after one that ended when it had removed the old coordinator, or
// added the new one.
func TestReplaceGoesOn(t *testing.T) {
	for _, c := range []struct {
		name string
		add  bool
	}{{"removed", false}, {"added", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all, of := three(t, Options{})
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			etcd := client(t, all[0].Addr())
			is, err := etcd.MemberList(ctx)
			if err != nil {
				t.Fatal(err)
			}
			all[2].Close()
			for _, m := range is.Members {
				if m.Name != of[2].Name {
					continue
				}
				if _, err := removeMember(ctx, etcd, m.ID); err != nil {
					t.Fatal(err)
				}
				if c.add {
					if _, err := addMember(ctx, etcd, m.PeerURLs[0]); err != nil {
						t.Fatal(err)
					}
				}
			}
			o := of[2]
			o.Dir, o.Replace = t.TempDir(), []string{all[0].Addr(), all[1].Addr()}
			start(t, o)
			if is, err := etcd.MemberList(ctx); err != nil || len(is.Members) != 3 {
				t.Errorf("%v, %v", is, err)
			}
		})
	}
}
