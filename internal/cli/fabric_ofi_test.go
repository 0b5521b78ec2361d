//go:build ofi

package cli

import (
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/internal/rdma/ofi"
)

// libfabric's tcp is tested when it is named, and the rows name it.
func TestFabricSelfTestTCP(t *testing.T) {
	cmd := []string{"fabric", "--test", "--duration", "2ms", "--fabric-provider", "tcp", "--fabric-addr", "127.0.0.1"}
	rows := decodeRows(t, clitest.Succeed(t, append(cmd, "--json")...))
	checkRows(t, rows, "ofi")
	text := clitest.Succeed(t, cmd...)
	for _, s := range []string{rows[0].Note, "no RDMA"} {
		if !strings.Contains(text, s) {
			t.Errorf("does not say %q:\n%s", s, text)
		}
	}
}

func TestFabricNoDevice(t *testing.T) {
	clitest.Fail(t, ExitFailure, []string{"fabric", "--test", "--transport", "ofi", "--fabric-device", "none0"},
		ofi.ErrNoDevice.Error(), `"none0"`, "Soft-RoCE")
	// An address that no host has (RFC 5737).
	clitest.Fail(t, ExitFailure, []string{"fabric", "--test", "--fabric-provider", "tcp", "--fabric-addr", "203.0.113.1"},
		"203.0.113.1", "there is tcp")
}
