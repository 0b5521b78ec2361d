//go:build linux

package harness

import (
	"strings"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const stat = "123 (a ) b (c) S 1 123 123 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 1 0 1 2 3"
	if got, err := parseStat([]byte(stat)); err != nil || got != 3*time.Second {
		t.Error(got, err)
	}
	for _, bad := range []string{"", "1 (x) S", strings.Replace(stat, "250", "x", 1)} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
