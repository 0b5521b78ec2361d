package disk

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrNoRoom: the disk has too little room to write the data directory again. The
// error says how much is wanted.
var ErrNoRoom = errors.New("disk: no room")

// spare is the room for the files of an opening beside tables: MANIFEST, OPTIONS, the
// first blocks of a new WAL.
const spare = 1 << 20

// probe checks cheaply whether another engine has a chance: it writes the contents of
// the WAL to tables before it serves. ErrNoRoom: it has none.
func (db *DB) probe() error {
	fs := db.o.FS
	written, err := walBytes(fs, db.files())
	if err == nil {
		err = room(fs, db.dir, spare+written)
	}
	if err != nil {
		return err
	}
	name := fs.PathJoin(db.dir, "PROBE")
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Sync(), f.Close(), fs.Remove(name))
}

// CheckRoom returns an error that wraps ErrNoRoom if a directory's file system has less free
// than a number of bytes.
func CheckRoom(dir string, need uint64) error { return room(vfs.Default, dir, need) }

func room(fs vfs.FS, dir string, need uint64) error {
	// Some file systems do not know how much is free.
	if usage, err := fs.GetDiskUsage(dir); err == nil && usage.AvailBytes < need {
		return fmt.Errorf("%w: %s has %d bytes free, %d are needed", ErrNoRoom, dir, usage.AvailBytes, need)
	}
	return nil
}

// walBytes is how much the files of the WAL hold. They may be longer, since Pebble
// allocates them ahead and uses old ones again.
func walBytes(fs vfs.FS, dir string) (n uint64, err error) {
	err = eachWALFile(fs, dir, func(f walFile) error {
		bytes, _ := f.records()
		n += bytes
		return nil
	})
	return n, err
}
