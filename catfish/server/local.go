package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
)

// ErrLost: acknowledged writes are missing from a data directory, which is damaged.
var ErrLost = disk.ErrLost

// Sync says when a write is durable: SyncAlways, SyncOff, SyncInterval.
type Sync = disk.Sync

// When writes are durable.
var (
	SyncAlways = disk.SyncAlways // when the call returns
	SyncOff    = disk.SyncOff    // when the operating system has written them
)

// SyncInterval makes writes durable every d, which must be positive.
func SyncInterval(d time.Duration) Sync { return disk.SyncInterval(d) }

// LocalOptions configure a Local. The zero value is ready for use.
type LocalOptions struct {
	Sync Sync // when a write is durable: SyncAlways, SyncOff, SyncInterval
	// AcceptLoss opens a directory in which acknowledged writes are missing, which is
	// refused otherwise (ErrLost). Its files are kept aside, in its damaged-N.
	AcceptLoss bool
	// LogBytes is roughly how much of the log is kept for watchers; 0: 256 MiB.
	LogBytes int64
	// SlabBytes bounds each part of a collection's memory: tree, records, keys.
	// It is address space until it is used. 0: 64 GiB.
	SlabBytes int64
	NodeBytes int          // of trees; 0: rstar.DefaultNodeBytes
	Logger    *slog.Logger // nil: none
	// Now is the time since the Unix epoch, never going back; nil: the clock.
	Now func() time.Duration
	// Workers is how many goroutines load collections at the start; 0: one for each processor.
	Workers int
	Watch   WatchLimits
}

func (o *LocalOptions) ofStore(dir string) store.Options {
	return store.Options{
		Dir: dir, Sync: o.Sync, AcceptLoss: o.AcceptLoss, LogBytes: o.LogBytes, SlabBytes: o.SlabBytes, NodeBytes: o.NodeBytes,
		Logger: o.Logger, Now: o.Now, Workers: o.Workers, Watch: o.Watch,
	}
}

// Local is a store of features in this process, without a network. Its Features
// are used like those of a Client.
type Local struct {
	st    *store.Store
	stop  context.CancelFunc
	tidy  sync.WaitGroup
	close sync.Once
}

// Open opens the features in a data directory, or makes it; an empty dir keeps them
// in memory alone. Only one process at a time may open a directory: that of a running
// server belongs to the server.
func Open(ctx context.Context, dir string, o LocalOptions) (*Local, error) {
	st, err := store.Open(ctx, o.ofStore(dir))
	if err != nil {
		return nil, err
	}
	l := &Local{st: st}
	ctx, l.stop = context.WithCancel(context.Background())
	l.tidy.Go(func() { l.keepTidy(ctx) })
	return l, nil
}

// keepTidy does the background work of the store.
func (l *Local) keepTidy(ctx context.Context) {
	store.EveryTick(ctx, func(turn int) { l.st.Tidy(turn) })
}

// Store returns the opened store.
func (l *Local) Store() *Store { return l.st }

// Close waits for in-flight calls, and closes the store. Later calls fail with
// ErrClosed.
func (l *Local) Close() (err error) {
	l.close.Do(func() {
		l.stop()
		l.st.GiveUp() // keepTidy writes, too.
		l.tidy.Wait()
		err = l.st.Close()
	})
	return err
}

// CreateFeatures adds a collection, unless there is one of that name
// (ErrCollectionExists: with other options).
func (l *Local) CreateFeatures(ctx context.Context, name string, o model.FeaturesOptions) error {
	if err := cmp.Or(ctx.Err(), wire.CheckName(name)); err != nil {
		return err
	}
	_, err := l.st.CreateFeatures(name, store.CollectionOptions(o))
	return err
}

// DropCollection removes a collection with all features, and reports whether there
// was one.
func (l *Local) DropCollection(ctx context.Context, name string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return l.st.DropFeatures(name)
}

// SwapCollections exchanges the names of two collections, as a Client does, and
// returns at once.
func (l *Local) SwapCollections(ctx context.Context, a, b string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.st.Swap(ctx, a, b)
}

// Features is for the collection of a name. ErrUnknownCollection: there is none.
func (l *Local) Features(name string) (*model.Features, error) {
	f := &localFeatures{func() (*store.Collection, error) { return l.st.Collection(name) }}
	if _, err := f.open(); err != nil {
		return nil, err
	}
	return model.NewFeatures(f), nil
}

// FeaturesOf is for a collection in this process, such as a Server's, whatever its
// name is.
func FeaturesOf(c *PlacesCollection) *model.Features {
	return model.NewFeatures(&localFeatures{func() (*store.Collection, error) { return c, nil }})
}

// localFeatures is a collection in this process, which each call looks up again.
type localFeatures struct {
	open func() (*store.Collection, error)
}

// collection is its present name, "" if it was dropped.
func (l *localFeatures) Collection() string {
	c, err := l.open()
	if err != nil {
		return ""
	}
	return c.Name()
}

// begin is open for a call. If the context has ended, it fails before the call
// begins, as over a connection.
func (l *localFeatures) begin(ctx context.Context) (*store.Collection, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return l.open()
}

// put starts all writes at once, so that they share a commit.
func (l *localFeatures) Put(ctx context.Context, fs []model.Feature, cond kv.Condition, results []model.PutResult) error {
	c, err := l.begin(ctx)
	if err != nil {
		return err
	}
	var under sync.WaitGroup
	var all store.Writes
	for i, f := range fs {
		id, value, err := query.Encode(store.Feature(f), c.Options().Space)
		if results[i].ID = id; err != nil {
			results[i].Err = err
			continue
		}
		under.Add(1)
		all.Put(c, id, value, int64(query.Expiry(f.Expires)), cond, func(revision uint64, replaced bool, err error) {
			results[i].Revision, results[i].Err = revision, err
			results[i].Created, results[i].Replaced = err == nil && !replaced, replaced
			under.Done()
		})
	}
	all.Submit()
	under.Wait()
	return nil
}

func (l *localFeatures) Patch(ctx context.Context, id string, patch []byte, cond kv.Condition) (uint64, error) {
	c, err := l.begin(ctx)
	if err != nil {
		return 0, err
	}
	return c.Patch(ctx, id, patch, cond)
}

func (l *localFeatures) Erase(ctx context.Context, id string, cond kv.Condition) (uint64, error) {
	c, err := l.begin(ctx)
	if err != nil {
		return 0, err
	}
	return c.Delete(ctx, id, cond)
}

func (l *localFeatures) EraseWhere(ctx context.Context, q store.Query) (int, error) {
	c, err := l.begin(ctx)
	if err != nil {
		return 0, err
	}
	n, err := c.DeleteWhere(ctx, q)
	if err != nil && n > 0 {
		err = &wire.PartlyDone{Done: n, Err: err}
	}
	return n, err
}

func (l *localFeatures) Get(ctx context.Context, ids []string, _ *feature.Selection, yield func(int, *store.Found) (bool, error)) error {
	c, err := l.begin(ctx)
	if err != nil {
		return err
	}
	return c.GetMany(ctx, ids, yield)
}

func (l *localFeatures) Search(ctx context.Context, q store.Query, yield func(*store.Found) (bool, error)) error {
	c, err := l.begin(ctx)
	if err != nil {
		return err
	}
	return wire.InPages(ctx, q, localPage, func(ctx context.Context, q store.Query) ([]store.Found, bool, error) { return findIn(ctx, c, q) }, yield)
}

const (
	// localBytes bounds what a search in this process copies before it yields: 30 ms,
	// and the memory of one caller.
	localBytes = 64 << 20
	// localPage bounds the number of those features, which matters if they are small.
	localPage = 1 << 17
)

// findIn copies the results: the caller may take longer than records stay.
func findIn(ctx context.Context, c *store.Collection, q store.Query) (found []store.Found, more bool, err error) {
	bytes := 0
	err = c.Search(ctx, q, func(f *store.Found) (bool, error) {
		if bytes += len(f.ID) + len(f.Value); bytes > localBytes && len(found) > 0 {
			if q.Order != query.ByID {
				return false, model.ErrTooLarge
			}
			more = true
			return false, nil
		}
		found = append(found, f.Clone())
		return true, nil
	})
	return found, more, err
}

func (l *localFeatures) Nearest(ctx context.Context, q store.NearestQuery, yield func(*store.Found) (bool, error)) error {
	c, err := l.begin(ctx)
	if err != nil {
		return err
	}
	var found []store.Found
	err = c.Nearest(ctx, q, func(f *store.Found) (bool, error) {
		found = append(found, f.Clone())
		return true, nil
	})
	if err == nil {
		_, err = wire.GiveAll(found, yield)
	}
	return err
}

func (l *localFeatures) Count(ctx context.Context, q store.Query) (int, error) {
	c, err := l.begin(ctx)
	if err != nil {
		return 0, err
	}
	return c.Count(ctx, q)
}

func (l *localFeatures) Describe(ctx context.Context) (model.FeaturesInfo, error) {
	c, err := l.begin(ctx)
	if err != nil {
		return model.FeaturesInfo{}, err
	}
	return c.Describe()
}

func (l *localFeatures) Explain(context.Context, store.Query) ([]store.Found, *model.Explanation, error) {
	return nil, nil, fmt.Errorf("%w: only a search over a connection is explained", model.ErrOption)
}
