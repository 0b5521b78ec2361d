package disk

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The checks of a start before a file may be removed and anything is served. Pebble
// reports tables whose bytes are not what was written. It does not report the end of
// its WAL or MANIFEST that it cannot read. Either takes whole batches away, and each
// batch has entries in the log. So it is enough to check the log:
//
//	| first .. | .. last |          no revision between is missing
//	                     | seal     none after the last was durable
//	               | seal           and the sealed one is the one that was written

// findings are the faults of a log.
type findings struct {
	first, last uint64 // revisions, 0: the log is empty
	gaps        []Lost // between first and last
	sealed      mark   // newest
	other       bool   // the sealed revision is another entry
	noSeal      error  // why SEAL, which must exist, has no seal
	lost        []Lost // gaps, and what is missing at the end
	missing     uint64 // entries in lost
	end         mark   // of last
}

// Lost is a range of revisions, both included.
type Lost struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// ErrLost: writes that had been acknowledged are not in the data directory. It is
// ErrCorrupt, too.
var ErrLost = fmt.Errorf("%w: acknowledged writes are missing", ErrCorrupt)

// inspect reads the whole log of p.
func inspect(p *pebble.DB, sealed mark, noSeal error) (f findings, err error) {
	f.sealed, f.noSeal = sealed, noSeal
	it, err := p.NewIter(&pebble.IterOptions{LowerBound: []byte{logPrefix}, UpperBound: []byte{logPrefix + 1}})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		revision, err := parseLogKey(it.Key())
		if err != nil {
			return f, err
		}
		switch {
		case f.first == 0:
			f.first = revision
		case revision != f.last+1:
			f.gaps = append(f.gaps, Lost{f.last + 1, revision - 1})
		}
		f.last = revision
		if revision == sealed.revision {
			f.other = sum(it.Value()) != sealed.sum
		}
	}
	if err := it.Error(); err != nil {
		return f, err
	}
	if f.end, err = endOf(p.NewIter); err != nil {
		return f, err
	}
	if f.lost = f.gaps; sealed.revision > f.last {
		f.lost = append(f.lost, Lost{f.last + 1, sealed.revision})
	}
	for _, l := range f.lost {
		f.missing += l.To - l.From + 1
	}
	return f, nil
}

// fault is ErrLost or ErrCorrupt if something is wrong.
func (f *findings) fault() error {
	switch {
	case len(f.lost) > 0:
		return fmt.Errorf("%w: %d writes, of revisions %s; the log has %d to %d, and %d was durable",
			ErrLost, f.missing, ranges(f.lost), f.first, f.last, max(f.sealed.revision, f.last))
	case f.other:
		return fmt.Errorf("%w: revision %d is not the write that was acknowledged", ErrLost, f.sealed.revision)
	case f.noSeal != nil:
		return fmt.Errorf("%w, so nothing tells whether the log, which ends at revision %d, is whole", f.noSeal, f.last)
	}
	return nil
}

// ranges is a short text.
func ranges(lost []Lost) string {
	text := ""
	for i, l := range lost {
		switch {
		case i == 3:
			return text + fmt.Sprintf(" and %d more ranges", len(lost)-i)
		case i > 0:
			text += ", "
		}
		text += fmt.Sprintf("%d to %d", l.From, l.To)
	}
	return text
}

// newestSeal is the newest mark of SEAL and of the WAL's files, 0, 0 if there is none
// yet. noSeal is why SEAL, which must exist, has none.
func newestSeal(fs vfs.FS, dir string, id identity) (m mark, noSeal, err error) {
	if id.sealed {
		m, err = readSeal(fs, dir, id.store)
		if errors.Is(err, ErrCorrupt) {
			noSeal, err = err, nil
		}
		if err != nil {
			return m, nil, err
		}
	}
	inLogs, err := sealInLogs(fs, fs.PathJoin(dir, pebbleName), id.store)
	return later(m, inLogs), noSeal, err
}
