package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/rstar"
)

// Input that cannot fit is refused before it is generated or read.
func TestTooManyObjects(t *testing.T) {
	for _, command := range []string{
		"serve --listen 127.0.0.1:0 --slab-bytes 1GiB --load uniform --objects 400000000",
		"check uniform --objects 400000000",
	} {
		clitest.Fail(t, ExitFailure, strings.Fields(command),
			"slab full", "uniform has 400000000", "nothing was loaded", "has 1073740800 bytes", "want --slab-bytes 19")
	}
	// The reported size is enough, and not much more than needed.
	const objects = "check uniform --objects 20000 --slab-bytes "
	_, _, told := clitest.Program(t, strings.Fields(objects+"512000")...)
	_, wanted, ok := strings.Cut(told, "want --slab-bytes ")
	if wanted, _, _ = strings.Cut(wanted, "\n"); !ok || len(wanted) > len("2097152") {
		t.Fatalf("says %q", told)
	}
	clitest.Succeed(t, strings.Fields(objects+wanted)...)
	// The number of objects in a file is not known in advance.
	csv, _ := sample(t)
	files := strings.Fields("check --slab-bytes 512000")
	for range 8 {
		files = append(files, csv)
	}
	clitest.Fail(t, ExitFailure, files, "slab full", "nothing was loaded", "--slab-bytes")
	clitest.Fail(t, ExitUsage, strings.Fields("check uniform --slab-bytes 100"), "--slab-bytes 100")
	clitest.Fail(t, ExitUsage, strings.Fields("gen uniform --read-memory 0"), "--read-memory is 0")
	clitest.Fail(t, ExitFailure, []string{"check", "../../datasets/testdata/andorra.osm.pbf", "--read-memory", "1000000"},
		"too large", "1000000", "--read-memory")
}

// A stopped load reports how many objects the server has.
func TestLoadStopped(t *testing.T) {
	full := fmt.Errorf("server: %w: it has 512000 bytes", rstar.ErrSlabFull)
	for _, c := range []struct {
		name   string
		answer []error // of batches of 10 of which 4 were stored
		stop   error
		says   string // "" : only the error
		hint   string
	}{
		{"bad input", nil, errors.New("line 3"), "", ""},
		{"slab full", []error{full}, full, "\n4 objects were loaded before that and stay on the server", ""},
		{"interrupted", []error{full, context.Canceled}, context.Canceled, "\nat least 8 objects were loaded", ""},
		{"server gone", []error{catfish.ErrUnknownOutcome}, catfish.ErrUnknownOutcome,
			"\nat least 4 objects were loaded before that and stay on the server, unless it has ended", ""},
		{"never sent", nil, catfish.ErrNotSent, "", "Nothing was changed"},
		{"not sent any more", []error{nil, catfish.ErrNotSent}, catfish.ErrNotSent, "\n8 objects were loaded", ""},
	} {
		var s sent
		for _, err := range c.answer {
			s.add(4, err)
		}
		err := s.stopped(c.stop)
		if !errors.Is(err, c.stop) || !strings.Contains(err.Error(), c.says) || c.says == "" && err.Error() != c.stop.Error() {
			t.Errorf("%s: %q, want %q", c.name, err, c.says)
		}
		if h := hint(err); c.hint == "" && h != "" || !strings.Contains(h, c.hint) {
			t.Errorf("%s: hint %q, want %q", c.name, h, c.hint)
		}
	}
}

// A server outlives its terminal, and logs that. All lines of its log have the
// time.
func TestHangup(t *testing.T) {
	p, addr, _ := clitest.Serve(t, "--load", "uniform", "--objects", "10")
	for range 2 {
		if err := p.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		clitest.Succeed(t, "status", "--server", addr)
	}
	if _, code := p.Interrupt(t); code != ExitOK {
		t.Errorf("exit %d: %s", code, p.ErrOut.String())
	}
	e := p.ErrOut.String()
	if !strings.Contains(e, "SIGHUP ignored") || !strings.Contains(e, "loading uniform: 10 objects") {
		t.Errorf("says %q", e)
	}
	stamped := regexp.MustCompile(`^time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d) `)
	for line := range strings.Lines(e) {
		if !stamped.MatchString(line) {
			t.Errorf("no time in %q", line)
		}
	}
}
