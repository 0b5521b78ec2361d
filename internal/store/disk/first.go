package disk

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// first opens the engine that a DB begins with. No file is removed, and no earlier
// data is overwritten, before the log is known to be whole (inspect.go).
// If it is not, or anything else is wrong, the directory stays as it is.
//
// On a disk that takes no writes the engine is frozen from the beginning, and another
// one is to take its place (recover.go).
func (db *DB) first() (_ *engine, end mark, err error) {
	if db.o.IDsOnly || !db.id.ready {
		e, err := openEngine(db.o, db.cache, db.files(), opening{create: true})
		if err != nil {
			return nil, end, err
		}
		return e, end, db.accept(e, end)
	}
	newest, noSeal, err := newestSeal(db.o.FS, db.dir, db.id)
	if err != nil {
		return nil, end, err
	}
	var f findings
	how := opening{inspect: func(p *pebble.DB) (err error) {
		if f, err = inspect(p, newest, noSeal); err != nil {
			return err
		}
		return f.fault()
	}}
	e, err := openEngine(db.o, db.cache, db.files(), how)
	if errors.Is(err, errWrite) {
		how.frozen = err
		e, err = openEngine(db.o, db.cache, db.files(), how)
	}
	if err != nil && db.o.AcceptLoss && (f.fault() != nil || pebble.IsCorruptionError(err)) {
		how.frozen = nil
		e, f.end, err = db.salvage(err, newest, noSeal)
	}
	if err != nil {
		return nil, end, err
	}
	if how.frozen != nil {
		db.durable.Store(min(newest.revision, e.last))
		return e, f.end, nil
	}
	return e, f.end, db.accept(e, f.end)
}

// Loaded reports that all of the state could be read. Until then no file of before is
// removed, so that nothing is lost if it could not.
func (db *DB) Loaded() {
	db.mu.Lock()
	defer db.mu.Unlock()
	if !db.loaded {
		db.loaded = true
		db.engine.g.keep()
	}
}

// accept lets an engine serve whose log is found to be whole.
func (db *DB) accept(e *engine, end mark) error {
	err := e.catchUp()
	if err == nil && !db.o.IDsOnly {
		err = db.sealed(end)
	}
	if err != nil {
		e.discard()
		return err
	}
	db.durable.Store(end.revision) // Open writes what the WAL held to a table.
	if db.id.ready {
		return nil
	}
	db.id.ready = true
	if err = db.id.save(db.o.FS, db.dir); err != nil {
		e.release()
	}
	return err
}

// sealed notes that a mark is durable, and makes the file SEAL if there is none.
func (db *DB) sealed(end mark) (err error) {
	if db.seals != nil {
		return db.seals.seal(end)
	}
	if db.id.sealed {
		db.seals, err = openSealer(db.o.FS, db.dir, db.id.store, mark{})
		if err != nil {
			return err
		}
		return db.seals.seal(end)
	}
	s, err := createSealer(db.o.FS, db.dir, db.id.store, end)
	if err != nil {
		return err
	}
	id := db.id
	id.sealed = true
	if err := id.save(db.o.FS, db.dir); err != nil {
		return errors.Join(err, s.close())
	}
	db.mu.Lock()
	db.id = id
	db.mu.Unlock()
	db.seals = s
	return nil
}

// endOf returns the mark of the log's last entry.
func endOf(iters view) (end mark, err error) {
	it, err := iters(&pebble.IterOptions{LowerBound: []byte{logPrefix}, UpperBound: []byte{logPrefix + 1}})
	if err != nil {
		return end, err
	}
	if it.Last() {
		end.sum = sum(it.Value())
		end.revision, err = parseLogKey(it.Key())
	}
	return end, errors.Join(err, it.Error(), it.Close())
}
