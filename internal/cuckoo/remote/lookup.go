package remote

import (
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/offload"
)

// looked continues a lookup when all lines of a look have arrived. publish.go of
// package cuckoo says what lines and marks mean.
func (w *Walk) looked(i int) error {
	l := &w.lookups[i]
	unchanged := l.confirm
	w.candidates = w.candidates[:0]
	kicked, stashed := false, false
	for side := range uint8(2) {
		line := &l.lines[side]
		if l.n == 4 {
			old := &l.lines[2+side]
			unchanged = unchanged && old.Version() == l.last[2+side]
			if old.Generation() != l.h.Generation-1 {
				w.renew(i, l.hop+1)
				return nil
			}
			kicked = kicked || old.Kicked(l.hash)
			stashed = stashed || side == 0 && old.Stashed()
			if !old.Moved() {
				w.candidates = old.AppendCandidates(w.candidates, 0, l.hash)
				continue
			}
			if line.Generation() == 0 { // it was read before the bucket was split
				l.confirm = false
				w.look(i, l.hop+1)
				return nil
			}
		}
		unchanged = unchanged && line.Version() == l.last[side]
		if line.Generation() != l.h.Generation || line.Moved() {
			w.renew(i, l.hop+1)
			return nil
		}
		kicked = kicked || line.Kicked(l.hash)
		stashed = stashed || side == 0 && line.Stashed()
		w.candidates = line.AppendCandidates(w.candidates, 0, l.hash)
	}
	l.kicked, l.stashed = kicked, stashed
	if unchanged {
		l.stage, l.result = over, Absent
		return nil
	}
	for k := range l.n {
		l.last[k] = l.lines[k].Version()
	}
	return w.follow(i, following)
}

// follow passes candidates to the Follower, which reads their records.
func (w *Walk) follow(i int, s stage) error {
	l := &w.lookups[i]
	l.stage = s
	if len(w.candidates) > 0 {
		if err := w.more(i, func(dst []offload.Ref) (_ []offload.Ref, err error) {
			return w.f.Candidates(i, w.candidates, l.hop+1, dst)
		}); err != nil {
			return err
		}
	}
	if l.pending == 0 {
		w.missed(i)
	}
	return nil
}

// more marks the reads that f appends as those of lookup i.
func (w *Walk) more(i int, f func(dst []offload.Ref) ([]offload.Ref, error)) error {
	from := len(w.todo)
	var err error
	if w.todo, err = f(w.todo); err != nil {
		return err
	}
	for j := from; j < len(w.todo); j++ {
		w.todo[j].Tag = w.todo[j].Tag&(1<<lookupShift-1) | kindRecord<<kindShift | uint64(i)<<lookupShift
	}
	w.lookups[i].pending += len(w.todo) - from
	return nil
}

// visitRecord takes a block of a record.
func (w *Walk) visitRecord(i int, ref offload.Ref, b []byte) (offload.Verdict, error) {
	l := &w.lookups[i]
	if l.stage == over {
		return offload.Accept, nil
	}
	tag := ref.Tag
	ref.Tag &= 1<<lookupShift - 1
	var j Judgement
	var v offload.Verdict
	err := w.more(i, func(dst []offload.Ref) (_ []offload.Ref, err error) {
		dst, j, v, err = w.f.Visit(i, ref, b, dst)
		return dst, err
	})
	ref.Tag = tag
	if err != nil || v != offload.Accept {
		return v, err
	}
	l.hop = max(l.hop, ref.Hop)
	l.pending--
	switch {
	case j == Match:
		l.stage, l.result = over, Found
	case j == Stale:
		l.again = true
		fallthrough
	case l.pending == 0:
		if l.pending == 0 {
			w.missed(i)
		}
	}
	return offload.Accept, nil
}

// missed continues a lookup of which no candidate was the key's.
func (w *Walk) missed(i int) {
	l := &w.lookups[i]
	hop := l.hop + 1
	switch {
	case l.again:
		l.confirm = false
		w.look(i, hop)
	case l.stage == following && l.stashed:
		l.stage, l.hop = atStash, hop
		offset, n := l.h.Stash()
		l.pending = 1
		w.todo = append(w.todo, offload.Ref{
			Offset: offset, Len: uint32(n), Read: offload.Read{Hop: hop},
			Tag: kindStash<<kindShift | uint64(i)<<lookupShift,
		})
	case l.kicked || l.stage == following2:
		l.confirm = true
		w.look(i, hop)
	default:
		l.stage, l.result = over, Absent
	}
}

// visitStash takes the stash. It does not matter when each line was read.
func (w *Walk) visitStash(i int, b []byte) (offload.Verdict, error) {
	w.candidates = w.candidates[:0]
	for ; len(b) > 0; b = b[min(len(b), cuckoo.LineBytes):] {
		line, err := cuckoo.ParseLine(b)
		if err != nil {
			return torn(err)
		}
		w.candidates = line.AppendCandidates(w.candidates, 0, w.lookups[i].hash)
	}
	w.lookups[i].pending--
	return offload.Accept, w.follow(i, following2)
}
