package cli

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/rstar"
)

// show walks over a generated source that takes a second per 4096 items
// and returns the output of progress.
func show(t *testing.T, terminal bool) string {
	t.Helper()
	var b bytes.Buffer
	src := datasets.Uniform(10*progressItems, 1)
	p := newProgress(&b, terminal, "loading uniform", src)
	if err := src.Items(func(rstar.Item) bool {
		p.item()
		if p.items%progressItems == 0 {
			<-time.After(time.Second) // The bubble's clock.
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	p.end()
	return b.String()
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := strings.Split(strings.TrimSpace(show(t, false)), "\n")
		if len(lines) != 2 || lines[1] != "loading uniform: 40960 objects in 10s" ||
			!strings.HasPrefix(lines[0], "loading uniform: 28672 objects, ") {
			t.Errorf("lines %q", lines)
		}
		bar := show(t, true)
		if !strings.Contains(bar, "\r") || !strings.Contains(bar, "%") ||
			!strings.HasSuffix(bar, "loading uniform: 40960 objects in 10s\n") {
			t.Errorf("bar %q", bar)
		}
	})
}
