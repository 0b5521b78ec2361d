package coordinator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
)

// A coordinator that has lost its directory has forgotten its votes and the decisions that it
// acknowledged: it may not come back under its old identity. The others remove that identity
// and add a new one of the same name, which copies their state before it counts. Both
// changes are decisions of a majority, so one of three can be replaced, and no decision is
// lost.
//
// An attempt may end between the steps: the next one continues there.

// ErrAlive: a coordinator is to be replaced that still answers.
var ErrAlive = errors.New("coordinator: still answers, and is not replaced")

const (
	// replaceTime bounds the changes. etcd takes a new member only once all others have
	// been connected for five seconds.
	replaceTime  = time.Minute
	replacePause = 500 * time.Millisecond
	// aliveTime bounds the question to the coordinator that is to be replaced.
	aliveTime = time.Second
)

// replace takes the place of the coordinator of this name among those that run. A directory
// with state is not touched: its coordinator was replaced before, or has lost nothing.
func replace(ctx context.Context, c *embed.Config, o *Options) error {
	if wal.Exist(filepath.Join(o.Dir, "member", "wal")) {
		return nil
	}
	var t *tls.Config
	var err error
	if o.CAFile != "" {
		if t, err = c.PeerTLSInfo.ClientConfig(); err != nil {
			return fmt.Errorf("coordinator: certificate %s: %w", o.CertFile, err)
		}
	}
	etcd, err := clientv3.New(clientv3.Config{Endpoints: o.Replace, TLS: t, Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("coordinator: %s: %w", strings.Join(o.Replace, ","), err)
	}
	defer etcd.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, replaceTime, fmt.Errorf("not within %v", replaceTime))
	defer cancel()
	members, err := changeMembers(ctx, etcd, c.Name, c.AdvertisePeerUrls[0].String(), t)
	if err != nil {
		return fmt.Errorf("coordinator: replacing %q among those at %s: %w", c.Name, strings.Join(o.Replace, ","), err)
	}
	c.InitialCluster, c.ClusterState = members, embed.ClusterStateFlagExisting
	return nil
}

// changeMembers puts a new member, at peer, in the place of the one of a name, and
// returns all as etcd's initial cluster.
func changeMembers(ctx context.Context, etcd *clientv3.Client, name, peer string, t *tls.Config) (string, error) {
	is, err := etcd.MemberList(ctx)
	if err != nil {
		return "", err
	}
	members := is.Members
	// One without a name was added, and has never run.
	old := func(m *etcdserverpb.Member) bool {
		return m.Name == name || slices.Contains(m.PeerURLs, peer)
	}
	if i := slices.IndexFunc(members, old); i >= 0 && members[i].Name != "" {
		for _, u := range members[i].PeerURLs {
			if answers(ctx, u, t) {
				return "", fmt.Errorf("%w: %q at %s", ErrAlive, members[i].Name, u)
			}
		}
		if members, err = removeMember(ctx, etcd, members[i].ID); err != nil {
			return "", err
		}
	}
	if !slices.ContainsFunc(members, old) {
		if members, err = addMember(ctx, etcd, peer); err != nil {
			return "", err
		}
	}
	all := make([]string, len(members))
	for i, m := range members {
		if m.Name == "" && !old(m) {
			return "", fmt.Errorf("another one was added and has never run: %s", strings.Join(m.PeerURLs, ","))
		}
		if old(m) {
			m.Name = name
		}
		all[i] = m.Name + "=" + m.PeerURLs[0]
	}
	return strings.Join(all, ","), nil
}

// addMember adds a coordinator at peer, and returns all.
func addMember(ctx context.Context, etcd *clientv3.Client, peer string) (all []*etcdserverpb.Member, err error) {
	err = onceHealthy(ctx, func() error {
		added, err := etcd.MemberAdd(ctx, []string{peer})
		if err == nil {
			all = added.Members
		}
		return err
	})
	return all, err
}

// removeMember takes a coordinator out, and returns those that are left.
func removeMember(ctx context.Context, etcd *clientv3.Client, id uint64) (all []*etcdserverpb.Member, err error) {
	err = onceHealthy(ctx, func() error {
		removed, err := etcd.MemberRemove(ctx, id)
		if err == nil {
			all = removed.Members
		}
		return err
	})
	return all, err
}

// onceHealthy makes a change as soon as etcd finds its members well enough for it.
func onceHealthy(ctx context.Context, change func() error) error {
	for {
		err := change()
		if !errors.Is(err, rpctypes.ErrUnhealthy) {
			return err
		}
		select {
		case <-time.After(replacePause):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// answers reports whether a coordinator runs at the address of a member.
func answers(ctx context.Context, peer string, t *tls.Config) bool {
	ctx, cancel := context.WithTimeout(ctx, aliveTime)
	defer cancel()
	client := http.Client{Transport: &http.Transport{TLSClientConfig: t, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, peer+"/version", nil)
	if err != nil {
		return false
	}
	r, err := client.Do(req)
	if err != nil {
		return false
	}
	defer r.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 1<<10))
	return r.StatusCode == http.StatusOK
}
