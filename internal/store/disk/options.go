package disk

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Sync says when a commit is durable. The zero value is SyncAlways.
type Sync struct {
	every time.Duration // negative: never
}

var (
	// SyncAlways: before Commit returns.
	SyncAlways = Sync{}
	// SyncOff: when Pebble has given it to the operating system, which it does in
	// blocks of 32 KiB, and that has written it. A process that is killed loses the
	// last entries, a machine more; the rest is a prefix. Close loses nothing.
	SyncOff = Sync{every: -1}
)

// SyncInterval makes commits durable every d, which must be positive. A process or
// a machine that dies loses the commits since then; the rest is a prefix.
func SyncInterval(d time.Duration) Sync { return Sync{every: max(d, 1)} }

func (s Sync) always() bool { return s.every == 0 }

// String is "always", "off" or the interval.
func (s Sync) String() string {
	switch {
	case s.every == 0:
		return "always"
	case s.every < 0:
		return "off"
	}
	return s.every.String()
}

// Options of a DB. The zero value is good.
type Options struct {
	// FS: nil for the disk. Tests give others.
	FS   vfs.FS
	Sync Sync
	// LogBytes is about how much of the log is kept, counted before compression.
	// 0: 256 MiB. More is kept for a moment, by a sixteenth.
	LogBytes int64
	// CacheBytes of blocks of the files. 0: 16 MiB, since state is read once, at
	// the start, and the end of the log is in memory anyway.
	CacheBytes int64
	Logger     *slog.Logger // nil: none
	// Store is the identity of a directory that is created; zero: a random one.
	Store [16]byte
	// IDsOnly keeps in memory, without a directory, what Keys needs and nothing
	// else: no values and no log. Sync is not looked at.
	IDsOnly bool
	// AcceptLoss opens a data directory in which acknowledged writes are missing
	// (ErrLost). The rest is another store, all files are kept aside in a directory
	// damaged-N, and the log reports the losses. Without it, Open fails.
	AcceptLoss bool
	// After is time.After; tests hand in another clock.
	After func(time.Duration) <-chan time.Time

	counters *counters // of the DB
	lagBytes int64     // of lag.go; tests set less
}

func (o Options) withDefaults() (Options, error) {
	if o.LogBytes < 0 || o.CacheBytes < 0 {
		return o, fmt.Errorf("%w: LogBytes %d, CacheBytes %d: below 0", ErrOptions, o.LogBytes, o.CacheBytes)
	}
	o.counters = new(counters)
	if o.lagBytes == 0 {
		o.lagBytes = lagBytes
	}
	if o.LogBytes == 0 {
		o.LogBytes = 256 << 20
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 16 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.IDsOnly {
		o.FS, o.Sync = vfs.NewMem(), SyncOff
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	return o, nil
}
