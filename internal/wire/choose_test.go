package wire

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/rdma/ofi"
)

// TestChooseTransports: which transports are tried, in which order, and why.
func TestChooseTransports(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	verbs := &FabricHello{Provider: "verbs", Device: "mlx5_0", Name: "no such network"}
	here := Hello{Host: HostID(), Socket: socket, Transports: []string{"shm", "ofi", "soft", "tcp"}, Fabric: verbs}
	far := here
	far.Host = "another"
	lost := here
	lost.Socket += "x"
	only := here
	only.Transports = []string{"shm", "tcp"}
	plain := Hello{Transports: []string{"tcp"}}
	noOFI := "not ofi: this build has no libfabric"
	if ofi.Built {
		noOFI = "not ofi: " // no device, or none on that network
	}
	for _, tc := range []struct {
		name, want string
		hello      Hello
		choices    []string
		reason     string // part of the first one's, or of the error
	}{
		{"same host", "auto", here, []string{"shm", "soft"}, "same host"},
		{"same host, shm alone", "auto", only, []string{"shm"}, "same host"},
		{"another host", "auto", far, []string{"soft"}, "not shm: the server runs on another host; " + noOFI},
		{"no socket", "auto", lost, []string{"soft"}, "its socket cannot be reached from here"},
		{"nothing", "auto", plain, nil, "name tcp to use plain sockets"},
		{"pinned shm", "shm", here, []string{"shm"}, "pinned"},
		{"pinned shm far", "shm", far, nil, "the server runs on another host"},
		{"pinned ofi", "ofi", far, []string{"ofi"}, "pinned"},
		{"pinned ofi missing", "ofi", plain, nil, "the server offers only tcp"},
		{"pinned soft", "soft", here, []string{"soft"}, "pinned"},
	} {
		got, err := ChooseTransports(tc.want, tc.hello, model.Fabric{})
		var names []string
		for _, c := range got {
			names = append(names, c.Transport)
		}
		if strings.Join(names, ",") != strings.Join(tc.choices, ",") {
			t.Errorf("%s: %v, %v, want %v", tc.name, got, err, tc.choices)
			continue
		}
		text := ""
		if err == nil {
			text = got[0].Reason
		} else if text = err.Error(); !errors.Is(err, model.ErrTransport) {
			t.Errorf("%s: %v, want ErrTransport", tc.name, err)
		}
		if !strings.Contains(text, tc.reason) {
			t.Errorf("%s: %q does not say %q", tc.name, text, tc.reason)
		}
	}
}
