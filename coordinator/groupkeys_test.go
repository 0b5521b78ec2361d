package coordinator

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/certs"
	"github.com/catfish-index/catfish/internal/certs/certstest"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/replica/node"
	"github.com/catfish-index/catfish/internal/wire"
)

// keysOf has the keys and certificates of a group, and of strangers.
type keysOf struct {
	t         *testing.T
	dir, keys string
	ca        *certstest.CA
	cert, key string
}

func newKeysOf(t *testing.T) *keysOf {
	k := &keysOf{t: t, dir: t.TempDir()}
	k.keys = filepath.Join(k.dir, "keys")
	k.ca = certstest.NewCA(t, k.dir, "ca")
	k.cert, k.key = k.ca.Issue(t, "member", 1)
	return k
}

// add makes a key in a file of keys, and returns the file that has it.
func (k *keysOf) add(keys, name, role string) (file, key string) {
	k.t.Helper()
	e, key, err := access.NewKey(access.Entry{Name: name, Roles: []string{role}})
	if err == nil {
		err = access.Add(keys, e)
	}
	file = filepath.Join(k.dir, name+".key")
	if err == nil {
		err = os.WriteFile(file, []byte(key+"\n"), 0o600)
	}
	if err != nil {
		k.t.Fatal(err)
	}
	return file, key
}

// member has a member use a key, of those of a file.
func (k *keysOf) member(keys, keyFile string) func(*daemon.Options) {
	return func(o *daemon.Options) {
		var err error
		if o.Server.Keys, err = access.Open(keys, catfishtest.Quiet(), nil); err != nil {
			k.t.Fatal(err)
		}
		o.TLS = daemon.TLS{Cert: k.cert, Key: k.key}
		o.Group.KeyFile, o.Group.MemberCA = keyFile, k.ca.File
		o.Group.TLS = daemon.CoordinatorTLS{CA: k.ca.File, Cert: k.cert, Key: k.key}
	}
}

// Members with keys and TLS, whose coordinator has TLS too, are a group. A stranger
// gets nothing of the store.
func TestKeysOfMembers(t *testing.T) {
	t.Parallel()
	k := newKeysOf(t)
	n1, memberKey := k.add(k.keys, "n1", "g:replica")
	n2, _ := k.add(k.keys, "n2", "g:replica")
	other, otherKey := k.add(k.keys, "h1", "h:replica")
	admin, adminKey := k.add(k.keys, "admin", "*:admin")
	c := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", CertFile: k.cert, KeyFile: k.key, CAFile: k.ca.File})
	of := func(name string, set func(*daemon.Options)) memberOf {
		return memberOf{Coordinator: c.Addr(), Node: name, Dir: filepath.Join(k.dir, name), set: set}
	}
	first := startHere(t, of("n1", k.member(k.keys, n1)))
	second := startHere(t, of("n2", k.member(k.keys, n2)))
	config, err := certs.Client(k.ca.File, k.cert, k.key)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := coord.Dial(coord.Options{Addrs: []string{c.Addr()}, TLS: config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = registry.Close() })
	catfishtest.Eventually(t, "two members are in sync", func() bool { return len(groupOf(t, registry).InSync) == 2 })
	client, err := catfish.Dial(t.Context(), first.addr+","+second.addr, catfish.Options{Key: adminKey, Shared: new(catfish.Shared), Logger: catfishtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if err := client.CreateFeatures(t.Context(), "places", model.FeaturesOptions{}); err != nil {
		t.Fatal(err)
	}

	// At the start, by this member's own files.
	for says, file := range map[string]string{"has not the role": admin, `"g:replica"`: other} {
		if _, err := of("n3", k.member(k.keys, file)).start(t.Context()); !errors.Is(err, model.ErrOption) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", filepath.Base(file), err, says)
		}
	}
	// By the primary, for a member whose own files accept its key.
	elsewhere := filepath.Join(k.dir, "elsewhere")
	stranger, strangerKey := k.add(elsewhere, "stranger", "*:replica")
	if _, err := of("n3", k.member(elsewhere, stranger)).start(t.Context()); !errors.Is(err, node.ErrNotAdmitted) || !strings.Contains(err.Error(), "no valid key") {
		t.Errorf("a key that the primary does not know: %v", err)
	}
	if _, err := os.Stat(filepath.Join(k.dir, "n3")); err == nil {
		t.Error("it has a directory")
	}

	// By what they send.
	wrongCA := certstest.NewCA(t, k.dir, "wrongca")
	wrongCert, wrongKey := wrongCA.Issue(t, "wrong", 2)
	for _, s := range []struct {
		name, cert, certKey, key, group, says string
	}{
		{"no TLS", "", "", memberKey, "g", ""},
		{"no certificate", "none", "", memberKey, "g", ""},
		{"another authority's certificate", wrongCert, wrongKey, memberKey, "g", ""},
		{"no key", k.cert, k.key, "", "g", "no valid key"},
		{"a wrong key", k.cert, k.key, memberKey[:len(memberKey)-1] + "x", "g", "no valid key"},
		{"a stranger's key", k.cert, k.key, strangerKey, "g", "no valid key"},
		{"a client's key", k.cert, k.key, adminKey, "g", "has not the role"},
		{"another group's key", k.cert, k.key, otherKey, "g", "has not the role"},
		{"another group", k.cert, k.key, memberKey, "h", "asks one of"},
	} {
		for _, copied := range []bool{false, true} {
			if got := k.stranger(first.addr, s.cert, s.certKey, fmt.Sprintf(`{"group":%q,"key":%q,"from":1,"copy":%v}`, s.group, s.key, copied)); s.says == "" && got != "" ||
				!strings.HasPrefix(got, s.says) && !strings.Contains(got, s.says) || strings.Count(got, "\n") > 1 || s.says != "" && !strings.HasPrefix(got, `{"refused":`) {
				t.Errorf("%s, copy %v: %q, want %q", s.name, copied, got, s.says)
			}
		}
	}
	if g := groupOf(t, registry); len(g.Members) != 2 || len(g.InSync) != 2 {
		t.Errorf("afterwards: %+v", g)
	}
	// A member whose key is revoked is out.
	if _, err := access.Revoke(k.keys, "n2"); err != nil {
		t.Fatal(err)
	}
	catfishtest.Eventually(t, "the member is out", func() bool { return len(groupOf(t, registry).InSync) == 1 })
}

// stranger sends a line to a member, and returns all that it answers.
func (k *keysOf) stranger(addr, cert, key, line string) string {
	k.t.Helper()
	c, err := wire.DialStream(k.t.Context(), addr, wire.StreamReplica)
	if err != nil {
		k.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if cert != "" {
		if cert == "none" {
			cert = ""
		}
		config, err := certs.Client(k.ca.File, cert, key)
		if err != nil {
			k.t.Fatal(err)
		}
		config.ServerName = "127.0.0.1"
		c = tls.Client(c, config)
	}
	if _, err := fmt.Fprintln(c, line); err != nil {
		return "" // The handshake failed.
	}
	b, err := io.ReadAll(bufio.NewReader(c))
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		k.t.Errorf("the member keeps a stranger's stream")
	}
	return string(b)
}
