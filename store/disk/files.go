package disk

import (
	"errors"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// eachLog calls f with each file of Pebble's WAL in a directory, open.
func eachLog(fs vfs.FS, dir string, f func(name string, file vfs.File) error) error {
	names, err := fs.List(dir)
	if err != nil && !oserror.IsNotExist(err) {
		return err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		file, err := fs.Open(fs.PathJoin(dir, name), vfs.SequentialReadsOption)
		if err != nil {
			return err
		}
		if err := errors.Join(f(name, file), file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// writeDurably writes a file so that it is there whole or not at all.
func writeDurably(fs vfs.FS, dir, name string, b []byte) error {
	name = fs.PathJoin(dir, name)
	f, err := fs.Create(name+".tmp", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fs.Rename(name+".tmp", name); err != nil {
		return err
	}
	return syncDir(fs, dir)
}

// isTable: Pebble writes such a file once, and never changes it.
func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}
