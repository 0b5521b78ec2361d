package disk

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// salvage opens a data directory in which acknowledged writes are missing, because
// Options.AcceptLoss says so. All files are kept aside before. What is left becomes
// another store, with a whole log:
//
//	log    | 3 .. 8 | gap | 12 .. 20 | missing end     gone before 12, whole after
//	state  that lagged before the gap is written back
//	       of collections whose creation is lost: dropped, by new entries
//
// What is left must then pass Check, or the opening fails.
func (db *DB) salvage(f findings) (*engine, mark, error) {
	fault := f.fault()
	aside, err := db.keepAside()
	if err != nil {
		return nil, mark{}, err
	}
	e, err := openEngine(db.o, db.cache, db.files(), opening{inspect: func(p *pebble.DB) error {
		if err := mend(p, f); err != nil {
			return err
		}
		var r Report
		if err := (&checker{p: p, r: &r}).run(); err != nil {
			return fmt.Errorf("%w: what is left is not consistent either: %w", fault, err)
		}
		return nil
	}})
	if err != nil {
		return nil, mark{}, err
	}
	end, err := endOf(e.NewIter)
	if err != nil {
		e.discard()
		return nil, mark{}, err
	}
	id := newIdentity()
	id.format, id.ready = db.id.format, true
	db.id = id
	db.o.Logger.Error("acknowledged writes are lost; what is left is served, as another store",
		"dir", db.dir, "error", fault, "lost", f.missing, "revisions", ranges(f.lost), "all files are kept in", aside)
	return e, end, nil
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

// mend makes the log whole again, and the rest what it says.
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

// writeBackBefore writes the states that lag before a gap: those of keys that are
// still there, and older.
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

// dropOrphans drops what is left of collections of which nothing else is known.
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
