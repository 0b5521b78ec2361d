package disk

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Checkpoint copies the database as it is to a directory that is missing or
// empty, while commits continue, and checks the copy (Check). On one file system
// tables are linked, not copied. The copy is a data directory like any other, and
// can be opened where it is; Restore makes one that counts as another store.
func (db *DB) Checkpoint(dir string) (Report, error) {
	id, dir, err := db.copyTo(dir)
	if err != nil {
		return Report{}, err
	}
	r, err := check(db.o.FS, dir)
	if err != nil {
		return r, err
	}
	return r, id.saveSealed(db.o.FS, dir, r.end)
}

// Copy is Checkpoint without the check, which takes as long as reading all of it. Opening the
// copy reads the state, whose blocks have check sums.
func (db *DB) Copy(dir string) error {
	_, _, err := db.copyTo(dir)
	return err
}

// copyTo is Copy, and returns the copy's identity and its absolute directory.
func (db *DB) copyTo(dir string) (id identity, _ string, err error) {
	if db.o.IDsOnly {
		return id, dir, fmt.Errorf("%w, nor values", ErrNoLog)
	}
	fs := db.o.FS
	if dir, err = absolute(fs, dir); err != nil {
		return id, dir, err
	}
	if dir == db.dir || strings.HasPrefix(dir, db.dir+"/") {
		return id, dir, fmt.Errorf("%w: %s is within %s", ErrOptions, dir, db.dir)
	}
	if err := vacant(fs, dir); err != nil {
		return id, dir, err
	}
	e, _, err := db.reader()
	if err != nil {
		return id, dir, err
	}
	err = db.healthy() // A frozen engine has files that are not on disk.
	db.mu.Unlock()
	defer e.release()
	if err != nil {
		return id, dir, err
	}
	if err := makeDir(fs, dir); err != nil {
		return id, dir, err
	}
	if err := e.DB.Checkpoint(fs.PathJoin(dir, pebbleName), pebble.WithFlushedWAL()); err != nil {
		return id, dir, err
	}
	if cause := e.g.cause(); cause != nil { // It may have come in between.
		return id, dir, fmt.Errorf("%w: %w", ErrReadOnly, cause)
	}
	// Last: without it the copy is not taken for one. Its format is at least that of
	// the copied files, since it is raised before anything that needs it is written.
	db.mu.Lock()
	id = db.id
	db.mu.Unlock()
	id.sealed = false
	return id, dir, id.save(fs, dir)
}

// saveSealed saves it with a seal, so that a fault of the copy's files is noticed later.
func (id identity) saveSealed(fs vfs.FS, dir string, end mark) error {
	s, err := createSealer(fs, dir, id.store, end)
	if err != nil {
		return err
	}
	id.sealed = true
	return errors.Join(s.close(), id.save(fs, dir))
}

// Restore copies a checkpoint to a data directory that is missing or empty, as another
// store: a client that resumes by revision must notice that history has changed. The
// checkpoint is checked before, and stays.
func Restore(from, to string) (Report, error) { return restore(vfs.Default, from, to) }

func restore(fs vfs.FS, from, to string) (r Report, err error) {
	if from, err = absolute(fs, from); err != nil {
		return r, err
	}
	if to, err = absolute(fs, to); err != nil {
		return r, err
	}
	if err := vacant(fs, to); err != nil {
		return r, err
	}
	if r, err = check(fs, from); err != nil {
		return r, err
	}
	source, target := fs.PathJoin(from, pebbleName), fs.PathJoin(to, pebbleName)
	if err := makeDir(fs, target); err != nil {
		return r, err
	}
	names, err := fs.List(source)
	if err != nil {
		return r, err
	}
	for _, name := range names {
		if name == lockName {
			continue
		}
		if err := vfs.Copy(fs, fs.PathJoin(source, name), fs.PathJoin(target, name)); err != nil {
			return r, err
		}
	}
	if err := syncDir(fs, target); err != nil {
		return r, err
	}
	id := newIdentity()
	id.format, id.ready, r.Store = r.Format, true, id.store
	return r, id.saveSealed(fs, to, r.end)
}

// vacant: a directory does not exist or is empty.
func vacant(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil && !oserror.IsNotExist(err) {
		return err
	}
	if len(names) > 0 {
		return fmt.Errorf("%w: %s", ErrExists, dir)
	}
	return nil
}
