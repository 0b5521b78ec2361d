package sim

import (
	"time"

	ways "github.com/catfish-index/catfish/internal/fetch"
)

// sizeClass is the unit of fetches whose size a client chooses: a line.
const sizeClass = 64

// mostLines is a limit far above all answers.
const mostLines = 1 << 12

// fetcher is what a simulated client knows of its fetches: the code that chooses sizes, and
// between fetched and written answers, is that of Catfish's client, package internal/fetch.
type fetcher struct {
	ways   ways.Ways // compares only if the owner calls ended
	size   ways.Size
	unit   int  // bytes of size's unit
	leaves bool // its answers are left in the server's memory at present
	counts ways.Counts
}

// newFetcher makes a client that fetches. bytes is the size of its first fetches, 0: it
// chooses; always: it compares nothing.
func newFetcher(bytes int, always bool, seed uint64, now *int64) *fetcher {
	f := &fetcher{leaves: true, unit: 1, size: ways.FixedSize(bytes, mostLines*sizeClass)}
	if bytes == 0 {
		f.unit, f.size = sizeClass, ways.NewSize(ways.FirstBytes/sizeClass, mostLines)
	}
	f.ways = ways.SeededWays(&f.counts, seed)
	f.ways.Always = always
	f.ways.Clock = func() time.Duration { return time.Duration(*now) }
	return f
}

// units is a number of bytes in units of the size.
func (f *fetcher) units(bytes int) int { return (bytes + f.unit - 1) / f.unit }

// read returns the bytes of the next fetch, of which missing are known to be needed.
func (f *fetcher) read(missing int) int { return f.size.Read(f.units(missing)) * f.unit }

// brought notes a fetch of asked bytes, of an answer of which bytes were missing before.
func (f *fetcher) brought(asked, bytes int) {
	f.size.Brought(f.units(asked), f.units(min(asked, bytes)), bytes > asked)
}

// late: an answer is asked for, and answers are written from now on.
func (f *fetcher) late() {
	if !f.leaves {
		return
	}
	f.leaves = false
	f.ways.Late()
	f.change()
}

// ended notes a call, and takes what it decides: it holds for calls that begin after it.
func (f *fetcher) ended(began int64, bytes, underWay int) {
	at := time.Duration(began)
	if f.ways.Back(f.leaves, false, at) {
		f.leaves = true
	}
	f.ways.Ended(at, bytes, underWay)
	f.change()
}

func (f *fetcher) change() {
	for f.ways.Changes() {
		switch f.ways.Next(f.leaves) {
		case ways.Write:
			f.leaves = false
		case ways.Fetch:
			f.leaves = true
		}
	}
}
