package daemon

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A member whose group was removed says what to do, once and then after a long time.
func TestRemovalIsLoggedOnce(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(slog.NewTextHandler(&b, nil))
	var r removal
	now := time.Now()
	for range int(removalEvery/mapPause) + 1 {
		r.log(log, errGone("g2"), now)
		now = now.Add(mapPause)
	}
	if n := strings.Count(b.String(), "\n"); n != 2 || !strings.Contains(b.String(), "stop its servers; or 'catfish cluster add g2' takes it back") {
		t.Errorf("%d lines:\n%s", n, &b)
	}
}
