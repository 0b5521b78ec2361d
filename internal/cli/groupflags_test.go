package cli

import (
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/internal/wire"
)

// Flags of lanes are refused by their values and limits.
func TestLaneFlags(t *testing.T) {
	for args, says := range map[string]string{
		"--lane-transport rdma": `--lane-transport is "rdma", want one of`,
		"--lane-ring 1000":      "--lane-ring is 1000, want 0",
		"--lane-ring 2GiB":      "from 4096 to 1073741824",
		"--lane-ring big":       "such as 1073741824, 512MiB or 1GiB",
	} {
		clitest.Fail(t, ExitUsage, strings.Fields("serve --listen 127.0.0.1:0 "+args), says)
	}
	n := int64(4096)
	r := ringSize{byteSize{&n}}
	if s := r.String(); s != "4096" {
		t.Error(s)
	}
	if err := r.Set("auto"); err != nil || n != 0 || r.String() != "auto" {
		t.Errorf("%v, %d, %s", err, n, r.String())
	}
}

// The status of a group says of each follower how the log comes to it.
func TestClusterTextOfLanes(t *testing.T) {
	got := clusterText(Cluster{Groups: []ClusterGroup{{Name: "g", Term: 3, Primary: "n1", InSync: []string{"n1", "n2"}, MinInSync: 1, Members: []ClusterMember{
		{Node: "n1", Addr: "a:1", Role: "primary", Revision: 7, InSync: true,
			Copy: &wire.CopyHello{To: "a:9", Transport: "shm", Reason: "same host", Sent: 45 << 20, Bytes: 120 << 20}},
		{Node: "n2", Addr: "a:2", Role: "secondary", Revision: 7, InSync: true, Lane: &wire.LaneHello{Transport: "shm", Reason: "same host", RingBytes: 1 << 20}},
		{Node: "n3", Addr: "a:3", Role: "learner", Lane: &wire.LaneHello{Transport: "tcp", Reason: "an option"}},
		{Node: "n4", Addr: "a:4", Role: "away", Error: "refused"},
	}}}})
	const want = `group g: term 3, primary n1, 2 of 4 in sync (writes need 1)
  n1           a:1                    primary    in sync      revision 7  sends a copy to a:9 over shm, 45 of 120 MiB (same host)
  n2           a:2                    secondary  in sync      revision 7  log over shm, ring of 1024 KiB (same host)
  n3           a:3                    learner    NOT in sync  revision 0  log over tcp, no ring (an option)
  n4           a:4                    away       NOT in sync  revision 0  (refused)
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestBackupOfGroups: what goes with a backup of all groups, and with the map of one.
func TestBackupOfGroups(t *testing.T) {
	dir := t.TempDir()
	for _, r := range []struct {
		args []string
		want string
	}{
		{[]string{"backup"}, "want NAME, of a running server, --data-dir"},
		{[]string{"backup", "x", "--coordinators", "c:1", "--out", dir}, "want NAME, of a running server, --data-dir"},
		{[]string{"backup", "--coordinators", "c:1"}, "goes with --out"},
		{[]string{"backup", "--coordinators", "c:1", "--out", dir, "-s", "h:1"}, "which know the servers"},
		{[]string{"backup", "--data-dir", dir, "--out", dir, "--member-ca", "ca.pem"}, "--member-ca"},
		{[]string{"backup", "--coordinators", "c:1", "--out", dir, "--member-ca", "ca.pem"}, "want all or none"},
		{[]string{"cluster", "init", "--coordinators", "c:1"}, "want names of groups, or --from"},
		{[]string{"cluster", "init", "a", "--from", dir, "--coordinators", "c:1"}, "want names of groups, or --from"},
		{[]string{"restore", "--from", dir, "--data-dir", dir + "2", "--group", "g"}, "is not a backup of all groups"},
	} {
		clitest.Fail(t, ExitUsage, r.args, r.want)
	}
	clitest.Fail(t, ExitFailure, []string{"cluster", "init", "--from", dir, "--coordinators", "c:1"}, "manifest.json")
}
