package disk

import (
	"path/filepath"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// absolute: one directory must have one name, or it could be opened twice.
func absolute(fs vfs.FS, dir string) (string, error) {
	if vfs.Root(fs) != vfs.Default {
		return dir, nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	return abs, nil
}

// makeDir makes a directory and its parents, durably. A process that then failed may
// have made some of them, so all directories above that can be read are synced.
func makeDir(fs vfs.FS, dir string) error {
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for {
		above := fs.PathDir(dir)
		if above == dir {
			return nil
		}
		if err := syncDir(fs, above); err != nil && !oserror.IsPermission(err) {
			return err
		}
		dir = above
	}
}
