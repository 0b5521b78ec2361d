package node

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/rdma"
	layout "github.com/catfish-index/catfish/internal/replica/lane"
	"github.com/catfish-index/catfish/internal/replica/windows"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// learner has the options of a member that copies, and its log.
func (g *group) learner() (Options, *catfishtest.LogLines) {
	lines := &catfishtest.LogLines{}
	return Options{Group: "g", Dial: dialTCP, Rings: g.rings(), Logger: lines.Logger()}, lines
}

// noCopy waits until a member sends no copy, and has no memory for one.
func (g *group) noCopy(m *member) {
	g.t.Helper()
	m.node.copying.Lock()
	defer m.node.copying.Unlock()
	if m.rings != nil && m.rings.windows.Load() != 0 {
		g.t.Errorf("%d regions are left", m.rings.windows.Load())
	}
	if s := m.node.Copying(); s != nil {
		g.t.Errorf("a copy is still sent: %+v", s)
	}
	if _, err := os.Stat(m.dir + copySuffix); !errors.Is(err, os.ErrNotExist) {
		g.t.Errorf("the checkpoint is left: %v", err)
	}
}

// more is more than all windows hold.
func more() []byte {
	b := make([]byte, (windows.Count+1)*windows.Bytes+12345)
	_, _ = rand.Read(b)
	return b
}

// A member without a store gets a copy by the transport of its lanes, which is longer than all
// windows, and continues with the log from there.
func TestCopy(t *testing.T) {
	groups(t, 1, func(g *group) {
		r := g.write("a")
		extra := more()
		g.members[0].store.extra = extra
		m := &member{name: "n2", dir: filepath.Join(t.TempDir(), "data"), fs: vfs.Default}
		o, lines := g.learner()
		if err := FetchCopy(t.Context(), o, g.members[0].node.o.Addr, m.dir); err != nil {
			t.Fatal(err)
		}
		g.noCopy(g.members[0])
		file := filepath.Join(m.dir, "extra")
		if came, err := os.ReadFile(file); !bytes.Equal(came, extra) {
			t.Errorf("another file arrived: %v", err)
		}
		_ = os.Remove(file)
		if s := g.members[0].node.Stats(); s.Copies != 1 || s.CopiesFailed != 0 {
			t.Errorf("%+v", s)
		}
		if want := "transport=" + g.transport + " "; strings.Count(lines.String(), want) != 2 {
			t.Errorf("want %q twice in\n%s", want, lines)
		}
		g.members = append(g.members, m)
		g.start(m)
		g.inSync(2)
		g.has(m, r, "a")
		r2 := g.write("b")
		g.has(m, r2, "b")
		if m.store.db.Store() != g.members[0].store.db.Store() {
			t.Error("the copy is another store")
		}
	})
}

// A member without a way goes by the stream, and says why; with Must it gets no copy.
func TestCopyWithoutWay(t *testing.T) {
	g := groupOver(t, 1, "soft")
	g.write("a")
	for _, must := range []bool{false, true} {
		o, lines := g.learner()
		o.Rings.Must = must
		g.at.Clear() // No device is known.
		dir := filepath.Join(t.TempDir(), "c")
		err := FetchCopy(t.Context(), o, g.members[0].node.o.Addr, dir)
		_, missing := os.Stat(dir)
		switch {
		case must && (!errors.Is(err, ErrRing) || missing == nil):
			t.Errorf("must: %v, %v", err, missing)
		case !must && (err != nil || missing != nil || !strings.Contains(lines.String(), "transport=tcp") || !strings.Contains(lines.String(), "no device at")):
			t.Errorf("%v, %v, %s", err, missing, lines)
		}
		g.noCopy(g.members[0])
	}
}

// reads opens what a learner opens, and stops there.
func (g *group) reads(m *member) (end func(), pair *windows.Reader) {
	g.t.Helper()
	c, _, to := g.stranger(m, greeting{Group: "g", Copy: true, Ring: true})
	dev, err := openTestDevice(g.transport)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = dev.Close() })
	at, _ := g.at.Load(m.node.o.Addr)
	pair, err = windows.Dial(g.t.Context(), dev, at.(string), layout.Hello{Boot: to.Boot, Ticket: to.Ticket, Group: layout.GroupSum("g")})
	if err == nil {
		err = writeLine(c, joining{Transport: g.transport})
	}
	if err != nil {
		g.t.Fatal(err)
	}
	return func() { _ = c.Close() }, pair
}

// A learner that goes away leaves no memory at the source, whichever part of it ends first;
// another one gets its copy.
func TestLearnerGoesAway(t *testing.T) {
	ringGroups(t, 1, func(g *group) {
		m := g.members[0]
		g.write("a")
		m.store.extra = more() // The source waits for its windows.
		for _, stream := range []bool{true, false} {
			end, pair := g.reads(m)
			catfishtest.Eventually(t, "the source has filled its windows", func() bool {
				s := m.node.Copying()
				return s != nil && s.Sent == windows.Count*windows.Bytes && s.Transport == g.transport
			})
			if m.rings.windows.Load() != 1 {
				t.Errorf("%d regions of a copy", m.rings.windows.Load())
			}
			if stream {
				end()
			} else {
				pair.Close()
			}
			g.noCopy(m)
			if stream {
				pair.Close()
			} else {
				end()
			}
		}
		o, _ := g.learner()
		if err := FetchCopy(t.Context(), o, m.node.o.Addr, filepath.Join(t.TempDir(), "c")); err != nil {
			t.Error(err)
		}
		g.noCopy(m) // The source counts a copy after the learner has all of it.
		if s := m.node.Stats(); s.Copies != 1 || s.CopiesFailed != 2 {
			t.Errorf("%+v", s)
		}
	})
}

// A ticket for a copy is none for a ring, and the other way round.
func TestTicketsOfCopies(t *testing.T) {
	ringGroups(t, 1, func(g *group) {
		m := g.members[0]
		_, _, to := g.stranger(m, greeting{Group: "g", Copy: true, Ring: true})
		h := layout.Hello{Boot: to.Boot, Ticket: to.Ticket, Group: layout.GroupSum("g")}
		if _, err := g.dialRing(m, h); !errors.Is(err, rdma.ErrRejected) || !strings.Contains(err.Error(), "for a copy: true") {
			t.Errorf("a ring: %v", err)
		}
		_, _, to = g.stranger(m, greeting{Group: "g", From: 3, Ring: true})
		dev, err := openTestDevice(g.transport)
		if err != nil {
			t.Fatal(err)
		}
		defer dev.Close()
		at, _ := g.at.Load(m.node.o.Addr)
		_, err = windows.Dial(t.Context(), dev, at.(string), layout.Hello{Boot: to.Boot, Ticket: to.Ticket, Group: layout.GroupSum("g"), Member: 3})
		if !errors.Is(err, rdma.ErrRejected) || !strings.Contains(err.Error(), "for a copy: false") {
			t.Errorf("windows: %v", err)
		}
	})
}

// Claims that are no copy's are refused before a file is made.
func TestOffers(t *testing.T) {
	dir := t.TempDir()
	for _, o := range []offer{{Files: -1}, {Files: maxFiles + 1}, {Bytes: -1}} {
		if err := o.check(dir); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	if err := (&offer{Files: 1, Bytes: 1 << 62}).check(dir); !errors.Is(err, disk.ErrNoRoom) {
		t.Errorf("more than any disk has: %v", err)
	}
	if err := (&offer{Files: maxFiles, Bytes: 0}).check(dir); err != nil {
		t.Error(err)
	}
}
