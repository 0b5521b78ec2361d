package disk

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// salvage opens a data directory in which acknowledged writes are missing, because
// Options.AcceptLoss says so. All files are kept aside before. The rest becomes
// another store, with a whole log:
//
//	WAL    what Pebble does not read is taken away, from the end
//	log    | 3 .. 8 | gap | 12 .. 20 | missing end     none before 12, whole after
//	state  that lagged before the gap is written back
//	       of collections whose creation is lost: dropped, by new entries
//
// The rest must then pass Check. If it does not, the files are put back.
func (db *DB) salvage(fault error, newest mark, noSeal error) (_ *engine, end mark, err error) {
	aside, err := db.keepAside()
	if err != nil {
		return nil, end, err
	}
	var f findings
	how := opening{inspect: func(p *pebble.DB) (err error) {
		if f, err = inspect(p, newest, noSeal); err != nil {
			return err
		}
		if err := mend(p, f); err != nil {
			return err
		}
		return (&checker{p: p, r: &Report{}}).run()
	}}
	e, err := openEngine(db.o, db.cache, db.files(), how)
	for err != nil && pebble.IsCorruptionError(err) {
		shorter, cerr := cutWAL(db.o.FS, db.files())
		if cerr != nil || !shorter {
			err = errors.Join(err, cerr)
			break
		}
		e, err = openEngine(db.o, db.cache, db.files(), how)
	}
	if err == nil {
		if end, err = endOf(e.NewIter); err != nil {
			e.discard()
		}
	}
	if err != nil {
		back := copyWAL(db.o.FS, db.o.FS.PathJoin(aside, pebbleName), db.files())
		return nil, end, errors.Join(fmt.Errorf("%w; what is left cannot be served either: %w", fault, err), back)
	}
	id := newIdentity()
	id.format, id.ready = db.id.format, true
	db.id = id
	db.o.Logger.Error("acknowledged writes are lost; what is left is served, as another store",
		"dir", db.dir, "error", fault, "lost", f.missing, "revisions", ranges(f.lost), "all files are kept in", aside)
	return e, end, nil
}

// cutWAL takes away some of the end of the WAL: what comes after the last record that
// can be read in its last file, or all of that file. shorter is false if there is
// nothing left.
func cutWAL(fs vfs.FS, dir string) (shorter bool, err error) {
	var last string
	var good, size uint64
	err = eachWALFile(fs, dir, func(f walFile) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		last, size = f.name, uint64(info.Size())
		_, good = f.records()
		return nil
	})
	if err != nil || last == "" {
		return false, err
	}
	if good == 0 || good == size {
		return true, fs.Remove(fs.PathJoin(dir, last))
	}
	b := make([]byte, good)
	f, err := fs.Open(fs.PathJoin(dir, last))
	if err != nil {
		return false, err
	}
	_, err = f.ReadAt(b, 0)
	if err = errors.Join(err, f.Close()); err != nil {
		return false, err
	}
	return true, writeDurably(fs, dir, last, b)
}

// copyWAL copies all files of a WAL.
func copyWAL(fs vfs.FS, from, to string) error {
	return eachWALFile(fs, from, func(f walFile) error {
		return vfs.Copy(fs, fs.PathJoin(from, f.name), fs.PathJoin(to, f.name))
	})
}

// keepAside copies the directory's files to one below it, which Catfish does not
// touch again. Tables are linked, since Pebble never changes one.
func (db *DB) keepAside() (string, error) {
	fs := db.o.FS
	for n := 1; ; n++ {
		to := fs.PathJoin(db.dir, fmt.Sprintf("damaged-%d", n))
		if _, err := fs.Stat(to); err == nil {
			continue
		} else if !oserror.IsNotExist(err) {
			return "", err
		}
		if err := makeDir(fs, fs.PathJoin(to, pebbleName)); err != nil {
			return "", err
		}
		names, err := fs.List(db.files())
		if err != nil {
			return "", err
		}
		for _, name := range names {
			from, to := fs.PathJoin(db.files(), name), fs.PathJoin(to, pebbleName, name)
			take := vfs.Copy
			if isTable(name) {
				take = vfs.LinkOrCopy
			}
			if err := take(fs, from, to); err != nil {
				return "", err
			}
		}
		if err := syncDir(fs, fs.PathJoin(to, pebbleName)); err != nil {
			return "", err
		}
		for _, name := range []string{sealName, identityName} {
			err := vfs.Copy(fs, fs.PathJoin(db.dir, name), fs.PathJoin(to, name))
			if err != nil && !oserror.IsNotExist(err) {
				return "", err
			}
		}
		return to, syncDir(fs, to)
	}
}

// mend repairs the log, and makes the state agree with it.
func mend(p *pebble.DB, f findings) error {
	b := p.NewBatch()
	defer b.Close()
	applied, lags, err := readApplied(p.NewIter)
	if err != nil {
		return err
	}
	whole := applied // State has all up to it.
	if len(f.gaps) > 0 {
		from := f.gaps[len(f.gaps)-1].To + 1
		if lags && applied+1 < from {
			whole = from - 1
			if err := writeBackBefore(p, b, applied+1, from); err != nil {
				return err
			}
		}
		if err := b.DeleteRange(logKey(f.first), logKey(from), nil); err != nil {
			return err
		}
	}
	if whole = min(whole, f.last); lags && whole != applied {
		setApplied(b, whole)
	}
	if err := dropOrphans(p, b, f.last); err != nil {
		return err
	}
	return b.Commit(pebble.Sync)
}

// writeBackBefore writes the states that lag before a gap: those of keys that
// still exist, and older.
func writeBackBefore(p *pebble.DB, b *pebble.Batch, from, to uint64) error {
	it, err := p.NewIter(&pebble.IterOptions{LowerBound: logKey(from), UpperBound: logKey(to)})
	if err != nil {
		return err
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		var revision uint64
		var n Entry
		if revision, err = parseLogKey(it.Key()); err == nil {
			n, err = parseEntry(revision, it.Value())
		}
		if err == nil && n.lags() {
			err = writeBackOlder(p, b, &n)
		}
	}
	return errors.Join(err, it.Error(), it.Close())
}

func writeBackOlder(p *pebble.DB, b *pebble.Batch, n *Entry) error {
	old, closer, err := p.Get(stateKey(n.Collection, n.Key))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, revision, _, _, err := parseState(old)
	if err == nil && revision < n.Revision {
		stageState(b, n)
	}
	return errors.Join(err, closer.Close())
}

// dropOrphans drops the states of collections of which nothing else is known.
func dropOrphans(p *pebble.DB, b *pebble.Batch, last uint64) error {
	metas, err := readCollections(p.NewIter)
	if err != nil {
		return err
	}
	known := map[uint32]bool{}
	for _, m := range metas {
		known[m.Collection] = true
	}
	it, err := p.NewIter(&pebble.IterOptions{LowerBound: []byte{statePrefix}, UpperBound: []byte{statePrefix + 1}})
	if err != nil {
		return err
	}
	for ok := it.First(); ok && err == nil; {
		var c uint32
		if c, _, err = parseCollection(it.Key()); err != nil {
			break
		}
		if !known[c] {
			last++
			n := Entry{Collection: c, Kind: Drop, Revision: last}
			v := make([]byte, n.logBytes()-logKeyBytes)
			n.put(v)
			err = errors.Join(b.DeleteRange(collectionKey(statePrefix, c), collectionEnd(statePrefix, c), nil),
				b.Set(logKey(last), v, nil))
		}
		ok = it.SeekGE(collectionEnd(statePrefix, c))
	}
	return errors.Join(err, it.Error(), it.Close())
}
