package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An error of opening a file, or a path below one, is a line, also in a log, which
// formats errors with %+v.
func TestOpenFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cafes.geojson")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(file, Options{})
	if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("a file: %v", err)
	}
	_, below := Open(filepath.Join(file, "data"), Options{})
	if below == nil {
		t.Error("a directory below a file was opened")
	}
	for _, err := range []error{err, below} {
		if text := fmt.Sprintf("%+v", err); strings.Contains(text, "\n") {
			t.Errorf("more than a line:\n%s", text)
		}
	}
}
