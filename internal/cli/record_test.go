package cli

import (
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

func TestRecordFlags(t *testing.T) {
	log := clitest.File(t, "log", "precious")
	clitest.Fail(t, ExitFailure, []string{"serve", "--listen", "127.0.0.1:0", "--record", log},
		"exists and is not overwritten", log, "--record-force")
	if clitest.ReadFile(t, log) != "precious" {
		t.Error("it was overwritten all the same")
	}
	p, _, _ := clitest.Serve(t, "--record", log, "--record-force")
	if _, code := p.Interrupt(t); code != ExitOK || !strings.HasPrefix(clitest.ReadFile(t, log), "catfish-querylog 1 ") ||
		!strings.Contains(p.ErrOut.String(), ": 0 searches, ") {
		t.Errorf("exit %d, says %s", code, p.ErrOut.String())
	}
	text := recordText(catfish.RecordStats{File: "f", Records: 1, Dropped: 5, Error: "disk full"})
	if !strings.Contains(text, "5 MISSING") || !strings.Contains(text, "ENDED: disk full") {
		t.Errorf("says %q", text)
	}
}
