package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/replica/node"
)

// oneGroup is a coordinator with one group, which may not be changed.
type oneGroup struct {
	t     *testing.T
	group node.Group
}

func (o oneGroup) Get(context.Context, string) (coord.Value, error) {
	b, err := json.Marshal(o.group)
	return coord.Value{Bytes: b, Version: 1}, err
}

func (o oneGroup) Swap(context.Context, string, int64, []byte) (int64, error) {
	o.t.Error("the group was changed")
	return 0, coord.ErrAway
}

func (o oneGroup) Watch(context.Context, string, func()) {}

// A switch to a member in sync that does not answer is refused before anything is changed.
func TestSwitchToNobody(t *testing.T) {
	l, err := net.Listen("tcp", catfishtest.OwnAddr())
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	g := node.Group{Name: "g", Term: 1, Primary: "n1", InSync: []string{"n1", "n2"},
		Members: []node.Member{{ID: 0, Name: "n1", Addr: l.Addr().String()}, {ID: 1, Name: "n2", Addr: l.Addr().String()}}}
	ctx, cancel := context.WithTimeout(t.Context(), clitest.Patience)
	defer cancel()
	err = switchTo(ctx, oneGroup{t, g}, "g", "n2")
	if !errors.Is(err, node.ErrRefused) || !strings.Contains(err.Error(), `"n2" of group "g" does not answer`) {
		t.Error(err)
	}
	if err := switchTo(ctx, oneGroup{t, g}, "g", "n3"); !errors.Is(err, node.ErrNoMember) {
		t.Error(err)
	}
}

// The status says how far members are behind the primary's readers; no member is compared with
// a primary that is away.
func TestClusterText(t *testing.T) {
	g := ClusterGroup{Name: "g", Term: 3, Primary: "n1", InSync: []string{"n1", "n2"}, MinInSync: 2, Members: []ClusterMember{
		{Node: "n1", Addr: "a:1", Role: "primary", Revision: 10, InSync: true},
		{Node: "n2", Addr: "b:1", Role: "secondary", Revision: 7, InSync: true},
		{Node: "n3", Addr: "c:1", Role: "away", Error: "no server"},
	}}
	g.measure()
	text := clusterText(Cluster{Groups: []ClusterGroup{g}})
	for _, want := range []string{"term 3, primary n1, 2 of 3 in sync (writes need 2)", "revision 10\n", "revision 7, 3 behind\n", "NOT in sync", "revision 0  (no server)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	g.Members[1].Behind, g.Members[0].Error = 0, "no server"
	if g.measure(); g.Members[1].Behind != 0 {
		t.Errorf("compared with a primary that is away: %+v", g.Members[1])
	}
	if text := clusterText(Cluster{Groups: []ClusterGroup{{Name: "new"}}}); !strings.Contains(text, "primary none yet") {
		t.Error(text)
	}
}

// The password of an etcd's user is in a file, or in the environment.
func TestCoordinatorPassword(t *testing.T) {
	t.Setenv(coordinatorPassword, "from the environment")
	file := clitest.File(t, "password", "from a file\n")
	for _, c := range []struct {
		user, file, want string
		fails            bool
	}{
		{"u", "", "from the environment", false},
		{"u", file, "from a file", false},
		{"", file, "", true},
		{"u", file + ".none", "", true},
	} {
		var g daemon.Group
		f := coordinatorAccess{user: c.user, passwordFile: c.file, prefix: "/p/", tls: daemon.CoordinatorTLS{CA: "ca"}}
		if err := f.set(&g); (err != nil) != c.fails || g.Password != c.want || g.User != c.user || g.Prefix != "/p/" || g.TLS.CA != "ca" {
			t.Errorf("%+v: %+v, %v", c, g, err)
		}
	}
}

// Files of TLS that do not exist are an error before a coordinator is asked.
func TestCoordinatorTLS(t *testing.T) {
	code, _, says := clitest.Program(t, "cluster", "status", "--coordinators", "127.0.0.1:1", "--coordinator-ca", "none.pem")
	if code == 0 || !strings.Contains(says, "none.pem") {
		t.Errorf("exit status %d: %s", code, says)
	}
}

// The status says which share of the requests each group answers, by what its primary says.
func TestRequestsShare(t *testing.T) {
	c := Cluster{Planner: &ClusterPlanner{Name: "c1", Term: 4}, Groups: []ClusterGroup{
		{Name: "a", Primary: "n2", Members: []ClusterMember{{Node: "n2", requests: 300}, {Node: "n1", requests: 5000}}},
		{Name: "b", Primary: "n1", Members: []ClusterMember{{Node: "n1", requests: 100}}}, {Name: "c"},
	}}
	c.measure()
	text := clusterText(c)
	for _, want := range []string{"300.0 requests/s (75%)\n", "100.0 requests/s (25%)\n", "planner c1 (term 4)", "(writes need 0)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
