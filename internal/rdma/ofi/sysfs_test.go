package ofi

import (
	"os"
	"path/filepath"
	"testing"
)

// tree writes files below a folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestSysfs: port, GID and state of the device that has the address.
func TestSysfs(t *testing.T) {
	root := tree(t, map[string]string{
		"mlx5_0/device/vendor":         "0x15b3",
		"mlx5_0/ports/1/state":         "1: DOWN",
		"mlx5_0/ports/1/link_layer":    "Ethernet",
		"mlx5_0/ports/1/rate":          "10 Gb/sec (4X SDR)",
		"mlx5_0/ports/1/gids/0":        "fe80:0000:0000:0000:0000:0000:0000:0001",
		"mlx5_0/ports/2/state":         "4: ACTIVE",
		"mlx5_0/ports/2/link_layer":    "Ethernet",
		"mlx5_0/ports/2/rate":          "100 Gb/sec (4X EDR)",
		"mlx5_0/ports/2/gids/0":        "fe80:0000:0000:0000:0000:0000:0000:0002",
		"mlx5_0/ports/2/gids/1":        "0000:0000:0000:0000:0000:ffff:0a00:0001", // RoCE v1
		"mlx5_0/ports/2/gids/2":        "0000:0000:0000:0000:0000:ffff:0a00:0001", // RoCE v2
		"rxe0/ports/1/state":           "4: ACTIVE",
		"rxe0/ports/1/link_layer":      "Ethernet",
		"rxe0/ports/1/gids/0":          "fe80:0000:0000:0000:0000:0000:0000:0003",
		"mlx5_0/ports/not-a-port/rate": "x",
	})
	f := Fabric{Provider: Verbs, Device: "mlx5_0", Addr: "10.0.0.1"}
	f.addSysfs(root)
	want := Fabric{
		Provider: Verbs, Device: "mlx5_0", Addr: "10.0.0.1", Port: 2, GIDIndex: 2,
		GID:  "0000:0000:0000:0000:0000:ffff:0a00:0001",
		Link: "Ethernet", State: "ACTIVE", Rate: "100 Gb/sec (4X EDR)",
	}
	if f != want {
		t.Errorf("got  %+v\nwant %+v", f, want)
	}
	if got := f.String(); got != "verbs mlx5_0 10.0.0.1 port 2 GID[2] 0000:0000:0000:0000:0000:ffff:0a00:0001 Ethernet 100 Gb/sec (4X EDR)" {
		t.Error(got)
	}
	soft := Fabric{Provider: Verbs, Device: "rxe0", Addr: "10.0.0.9"}
	soft.addSysfs(root)
	if !soft.Emulated || soft.Port != 1 || soft.GID != "" || soft.State != "ACTIVE" {
		t.Errorf("rxe0 without that address: %+v", soft)
	}
	none := Fabric{Provider: Verbs, Device: "no such"}
	none.addSysfs(root)
	if none.Port != 0 || !none.Emulated {
		t.Errorf("no such device: %+v", none)
	}
}

// TestDefaults: the error for a bad option gives its name.
func TestDefaults(t *testing.T) {
	if o, err := (Options{}).withDefaults(); err != nil || o.Provider != Verbs || o.Dial == nil || o.Listen == nil {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := (Options{Provider: "efa"}).withDefaults(); err == nil {
		t.Error("efa was taken")
	}
}
