package cuckoo_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/cuckoo/remote"
	"github.com/catfish-index/catfish/offload"
)

// A remote lookup posts reads at times of its own. A read gets each of its lines as it
// was at some instant since then, lines in any order. Choices are: when the lookup
// begins, which header it knows (any that was current until then), and which content
// each line shows. That it shows as early as possible is no loss: a lookup that ends
// earlier is promised more, and the reads that follow may choose any later content
// anyway. The same holds for an odd content, which means to read again.

const recordOffset = 1 << 40 // of reads of records, by reference

// remoteRun is one lookup.
type remoteRun struct {
	s     *script
	lines map[uint64][]piece
	key   *history
	c     *chooser
	end   int
	found uint64
	told  []string
}

func (r *remoteRun) Candidates(_ int, refs []uint64, hop uint16, dst []offload.Ref) ([]offload.Ref, error) {
	for _, ref := range refs {
		dst = append(dst, offload.Ref{Offset: recordOffset + ref, Len: 64, Read: offload.Read{Hop: hop}})
	}
	return dst, nil
}

func (r *remoteRun) Visit(_ int, ref offload.Ref, _ []byte, dst []offload.Ref) ([]offload.Ref, remote.Judgement, offload.Verdict, error) {
	if f := ref.Offset - recordOffset; r.key.holds(f) {
		r.found = f
		return dst, remote.Match, offload.Accept, nil
	}
	return dst, remote.OtherKey, offload.Accept, nil
}

func (r *remoteRun) history(offset uint64) []piece {
	ps, ok := r.lines[offset]
	if !ok {
		for _, p := range r.s.pieces(offset) {
			if p.line[0]&1 == 0 {
				ps = append(ps, p)
			}
		}
		r.lines[offset] = ps
	}
	return ps
}

// read fills b as a read that was posted at a time may, and returns its end.
func (r *remoteRun) read(ref offload.Ref, posted int, b []byte) (end int) {
	end = posted
	for o := uint64(0); o < uint64(ref.Len); o += cuckoo.LineBytes {
		ps := r.history(ref.Offset + o)
		for ps[0].until <= posted {
			ps = ps[1:]
		}
		p := &ps[0]
		if len(ps) > 1 {
			p = &ps[r.c.pick(len(ps))]
		}
		copy(b[o:], p.line[:])
		end = max(end, p.from)
	}
	r.told = append(r.told, fmt.Sprintf("read %d+%d at %d", ref.Offset, ref.Len, end))
	return end
}

// run makes one lookup that begins at a time with a header.
func (r *remoteRun) run(begin int, h *cuckoo.Header) (string, error) {
	tab := &remote.Table{Bytes: uint64(16 << 10)}
	if h != nil {
		tab.Learn(*h)
	}
	var w remote.Walk
	if err := w.Begin(tab, []uint64{r.key.hash}, r); err != nil {
		return "", err
	}
	r.end, r.found, r.told = begin, 0, r.told[:0]
	var block [remote.BlockBytes]byte
	var batch []offload.Ref
	for {
		batch = batch[:0]
		for {
			ref, ok, err := w.Next()
			if err != nil {
				return "", err
			}
			if !ok {
				break
			}
			batch = append(batch, ref)
		}
		if len(batch) == 0 {
			break
		}
		posted := r.end
		for _, ref := range batch {
			if ref.Offset < recordOffset {
				r.end = max(r.end, r.read(ref, posted, block[:ref.Len]))
			}
			if v, err := w.Visit(ref, block[:ref.Len]); err != nil || v != offload.Accept {
				return "", errors.Join(err, fmt.Errorf("verdict %d", v))
			}
		}
	}
	switch {
	case (w.Result(0) == remote.Found) != (r.found != 0):
		return fmt.Sprintf("result %d, found %d", w.Result(0), r.found), nil
	case w.Result(0) == remote.Unsettled && begin < r.s.now():
		return "", nil
	case w.Result(0) == remote.Unsettled:
		return "unsettled, although nothing is written", nil
	}
	return r.key.judge(r.found, begin, r.end), nil
}

// maxRuns bounds the lookups of one key in one script.
const maxRuns = 60_000

// exploreRemote explores all lookups of all keys. runs is their number; whole is false
// if there were too many.
func exploreRemote(s *script) (wrong string, runs int, whole bool) {
	whole = true
	lines := map[uint64][]piece{}
	type known struct {
		from int
		h    cuckoo.Header
	}
	var headers []known
	for _, p := range s.pieces(0) {
		if h, err := cuckoo.ParseHeader(p.line[:], 16<<10); err == nil {
			headers = append(headers, known{p.from, h})
		}
	}
	for _, key := range s.keys {
		n := 0
		for begin := 0; begin <= s.now(); begin++ {
			for i := range headers {
				if headers[i].from > begin {
					break
				}
				c := &chooser{}
				for {
					r := &remoteRun{s: s, lines: lines, key: key, c: c}
					bad, err := r.run(begin, &headers[i].h)
					if err != nil {
						bad = err.Error()
					}
					if bad != "" {
						return fmt.Sprintf("%s\nlookup of %#x began %d, ended %d: %s, header %d\n%s\n%+v",
							strings.Join(s.told, "\n"), key.hash, begin, r.end, bad, i,
							strings.Join(r.told, "\n"), key.spans), runs, whole
					}
					n++
					if !c.next() {
						break
					}
					if n > maxRuns {
						whole = false
						break
					}
				}
			}
		}
		runs += n
	}
	return "", runs, whole
}

const remoteScripts, remoteStores = 60, 24

// TestExploreRemote explores random scripts. Kicks, the stash and growth must
// occur in them.
func TestExploreRemote(t *testing.T) {
	all, partly, total := 0, 0, cuckoo.Stats{}
	for seed := range uint64(remoteScripts) {
		s := newScript(t, seed, remoteStores)
		wrong, runs, whole := exploreRemote(s)
		if wrong != "" {
			t.Fatalf("script %d\n%s", seed, wrong)
		}
		all += runs
		if !whole {
			partly++
		}
		st := s.index.Stats()
		total.Kicks += st.Kicks
		total.Stashed += st.Stashed
		total.Grown += st.Grown
	}
	t.Logf("%d lookups, %d of %d scripts only in part; %d kicks, %d stashed, %d growths",
		all, partly, remoteScripts, total.Kicks, total.Stashed, total.Grown)
	if total.Kicks == 0 || total.Stashed == 0 || total.Grown == 0 || partly > remoteScripts/10 {
		t.Errorf("the scripts show too little")
	}
}
