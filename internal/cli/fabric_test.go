package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/internal/rdma/ofi"
)

// decodeRows reads one row of the self-test per line.
func decodeRows(t *testing.T, text string) []fabricRow {
	t.Helper()
	var rows []fabricRow
	for line := range strings.Lines(text) {
		rows = append(rows, clitest.Decode[fabricRow](t, line))
	}
	return rows
}

// checkRows wants three operations in two sizes of each transport.
func checkRows(t *testing.T, rows []fabricRow, transports ...string) {
	t.Helper()
	if len(rows) != 6*len(transports) {
		t.Fatalf("%d rows, want %d", len(rows), 6*len(transports))
	}
	for i, r := range rows {
		if want := transports[i/6]; r.Transport != want || r.Bytes != []int{64, 2048}[i%2] {
			t.Errorf("row %d is %s of %d bytes, want %s", i, r.Transport, r.Bytes, want)
		}
		if want := []string{"read", "write", "write-with-imm"}[i/2%3]; r.Op != want {
			t.Errorf("row %d is a %s, want %s", i, r.Op, want)
		}
		if r.Checked == 0 || r.P50Us <= 0 || r.PerSecond <= 0 || r.RDMA || r.Note == "" {
			t.Errorf("row %d: %+v", i, r)
		}
	}
}

func TestFabricSelfTest(t *testing.T) {
	transports := []string{"soft"}
	if runtime.GOOS == "linux" {
		transports = []string{"shm", "soft"}
	}
	cmd := []string{"fabric", "--test", "--duration", "2ms", "--transport", strings.Join(transports, ",")}
	checkRows(t, decodeRows(t, clitest.Succeed(t, append(cmd, "--json")...)), transports...)
	text := clitest.Succeed(t, cmd...)
	for _, s := range append(transports, "write-with-imm", "2048", "128 ok", "software RNIC over TCP") {
		if !strings.Contains(text, s) {
			t.Errorf("the table lacks %q:\n%s", s, text)
		}
	}
}

func TestFabricReport(t *testing.T) {
	r := clitest.Decode[fabricReport](t, clitest.Succeed(t, "fabric", "--json"))
	if len(r.Transports) != 3 || r.Why == "" || r.Locked.Known != (runtime.GOOS == "linux") {
		t.Errorf("%+v", r)
	}
	text := clitest.Succeed(t, "fabric")
	for _, s := range []string{"shm", "soft", "ofi", "locked memory", "would choose   same host: " + r.SameHost} {
		if !strings.Contains(text, s) {
			t.Errorf("no %q in:\n%s", s, text)
		}
	}
	if !ofi.Built {
		if !strings.Contains(text, ofi.ErrNotBuilt.Error()) {
			t.Errorf("does not tell how to build with libfabric:\n%s", text)
		}
		clitest.Fail(t, ExitFailure, []string{"fabric", "--test", "--transport", "ofi"}, "CGO_ENABLED=1 go build -tags ofi")
		clitest.Fail(t, ExitFailure, []string{"fabric", "--test", "--fabric-provider", "tcp"}, "CGO_ENABLED=1 go build -tags ofi")
	}
}

func TestFabricBadUsage(t *testing.T) {
	for args, says := range map[string]string{
		"--transport shm":                          "add --test",
		"--fabric-addr 10.0.0.1":                   "--fabric-addr is for the self-test",
		"--test --transport tcp":                   `"tcp", want some of shm, soft, ofi`,
		"--test --fabric-provider efa":             "verbs or tcp",
		"--test --transport shm --fabric-device x": "are for --transport ofi",
		"--test --size 0":                          "--size 0, want 1 to 1048576 bytes",
		"--test --size 64,2000000":                 "--size 2000000",
		"--test --duration 0s":                     "--duration is 0s",
		"--test mlx5_0":                            "unexpected argument",
	} {
		clitest.Fail(t, ExitUsage, append([]string{"fabric"}, strings.Fields(args)...), says, "catfish fabric --help")
	}
}

var (
	card = ofi.Fabric{Provider: ofi.Verbs, Device: "mlx5_0", Name: "10.0.0.0/24", Addr: "10.0.0.1", Port: 1,
		GID: "::ffff:10.0.0.1", GIDIndex: 3, Link: "Ethernet", State: "ACTIVE", Rate: "100 Gb/sec (4X EDR)",
		MaxReads: 16, Inline: 64}
	rxe      = ofi.Fabric{Provider: ofi.Verbs, Device: "rxe0", Addr: "10.0.0.2", State: "DOWN", Emulated: true}
	noIP     = ofi.Fabric{Provider: ofi.Verbs, Device: "mlx5_1", State: "ACTIVE"}
	loopback = ofi.Fabric{Provider: ofi.TCP, Device: "lo", Addr: "127.0.0.1", Emulated: true}
)

func TestFabricChoice(t *testing.T) {
	same := "shm"
	if runtime.GOOS != "linux" {
		same = "soft"
	}
	for name, c := range map[string]struct {
		fabrics []ofi.Fabric
		err     error
		other   string
		says    []string
	}{
		"card": {[]ofi.Fabric{card, loopback}, nil, "ofi", []string{
			"RDMA device mlx5_0", "[3] ::ffff:10.0.0.1", "100 Gb/sec (4X EDR)", "ACTIVE", "no RDMA, for tests"}},
		"emulated":   {[]ofi.Fabric{rxe}, nil, "ofi", []string{"rxe0 counts", "emulated by the kernel", "DOWN"}},
		"tcp":        {[]ofi.Fabric{loopback}, nil, "soft", []string{"(no RDMA device that"}},
		"no address": {[]ofi.Fabric{noIP}, nil, "soft", []string{"(no RDMA device that", "mlx5_1"}},
		"nothing":    {nil, nil, "soft", []string{"(no RDMA device that"}},
		"not built":  {nil, ofi.ErrNotBuilt, "soft", []string{"(this build has no libfabric)", "-tags ofi"}},
		"broken":     {nil, errors.New("fi_getinfo: boom"), "soft", []string{"could not be asked", "boom"}},
	} {
		r := newFabricReport(c.fabrics, c.err, nil, lockedMemory{Known: true, Unlimited: true})
		text := r.text()
		if r.SameHost != same || r.OtherHosts != c.other || r.Transports[2].Available != (c.other == "ofi") {
			t.Errorf("%s: %+v", name, r)
		}
		for _, s := range append(c.says, "other hosts: "+c.other, "unlimited") {
			if !strings.Contains(text, s) {
				t.Errorf("%s: no %q in:\n%s", name, s, text)
			}
		}
		if b, _ := json.Marshal(r); strings.Contains(string(b), "null") {
			t.Errorf("%s: null instead of an empty list: %s", name, b)
		}
	}
}

// The limit only matters on a host with a device.
func TestFabricLockedMemory(t *testing.T) {
	low := lockedMemory{Known: true, Bytes: 8 << 20}
	for name, c := range map[string]struct {
		fabrics []ofi.Fabric
		lock    lockedMemory
		hint    bool
	}{
		"low":       {[]ofi.Fabric{card}, low, true},
		"no device": {[]ofi.Fabric{loopback}, low, false},
		"enough":    {[]ofi.Fabric{card}, lockedMemory{Known: true, Bytes: 2 << 30}, false},
		"unlimited": {[]ofi.Fabric{card}, lockedMemory{Known: true, Unlimited: true}, false},
		"unknown":   {[]ofi.Fabric{card}, lockedMemory{}, false},
	} {
		r := newFabricReport(c.fabrics, nil, nil, c.lock)
		if got := strings.Contains(r.text(), "LimitMEMLOCK"); got != c.hint {
			t.Errorf("%s: hint %v, want %v:\n%s", name, got, c.hint, r.text())
		}
	}
}

func TestFabricKernelDevices(t *testing.T) {
	root := t.TempDir()
	for _, d := range []struct{ at, driver string }{
		{"infiniband/mlx5_0", "mlx5_core"}, {"infiniband/mlx5_1", "mlx5_core"},
		{"infiniband/mlx5_2", "mlx5_core"}, {"infiniband/rdmap0s6", "efa"},
		{"infiniband/rxe0", ""}, {"cxi/cxi0", "cxi_ss1"},
	} {
		at := filepath.Join(root, d.at)
		if d.driver != "" {
			at = filepath.Join(at, "device")
		}
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if d.driver != "" {
			if err := os.Symlink("../../drivers/"+d.driver, filepath.Join(at, "driver")); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := newFabricReport([]ofi.Fabric{noIP, card, rxe}, nil, kernelDevices(root), lockedMemory{})
	want := []struct {
		name, driver string
		usable       bool
		says         string
	}{
		{"mlx5_0", "mlx5_core", true, "offered"},
		{"mlx5_1", "mlx5_core", false, "has no IP address"},
		{"mlx5_2", "mlx5_core", false, "rdma_ucm"},
		{"rdmap0s6", "efa", false, "AWS EFA is not supported yet"},
		{"rxe0", emulated, true, "DOWN"},
		{"cxi0", "cxi", false, "HPE Slingshot is not supported yet"},
	}
	if len(r.Kernel) != len(want) {
		t.Fatalf("%+v", r.Kernel)
	}
	for i, w := range want {
		if d := r.Kernel[i]; d.Name != w.name || d.Driver != w.driver || d.Usable != w.usable ||
			!strings.Contains(d.Note, w.says) || !strings.Contains(r.text(), d.Note) {
			t.Errorf("%+v, want %+v", d, w)
		}
	}
	r = newFabricReport(nil, ofi.ErrNotBuilt, kernelDevices(root), lockedMemory{})
	if i := slices.IndexFunc(r.Kernel, func(d kernelDevice) bool { return d.Usable }); i >= 0 {
		t.Errorf("without libfabric %+v", r.Kernel[i])
	}
	if len(kernelDevices(filepath.Join(root, "none"))) != 0 {
		t.Error("devices out of nothing")
	}
}
