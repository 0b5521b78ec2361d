//go:build linux

package kvpeers

import (
	"errors"
	"strings"
	"testing"
)

func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, name := range Names() {
		_, err := Start(t.Context(), name, Unix, nil, 1<<20)
		if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "apt-get install") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Start(t.Context(), "redis", "carrier pigeon", nil, 1<<20); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
}
