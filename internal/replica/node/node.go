// Package node runs a member of a group: it drives the protocol's state machine (package
// replica), whose events come from clocks, other members, the disk and the coordinator, and
// carries out its actions.
//
//	                      +------------ loop: replica.Member.Step -----------+
//	Propose (store's      |  Propose                                         |
//	 commit leader) ----->|                    Append, Truncate, Sync ------>| disk goroutine: journal
//	ticker -------------->|  Tick                        Synced <------------|
//	lanes of members ---->|  Receive                     Send -------------->| one sender per follower,
//	                      |                                                  | one lane to the primary
//	coordinator --------->|  Learned                     Change, Read ------>| decide goroutine: etcd
//	                      |                              Publish ----------->| apply goroutine: store
//	                      +--------------------------------------------------+
//
// Each goroutine takes its work from a queue, in order, so the loop waits for none of them.
// What is published is in the store of the primary by its own commit queue, which waits in
// Propose, and in all others by apply.
package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/boottime"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/replica/journal"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// Store is the store of a member. All methods but Log are called by one goroutine at a time.
type Store interface {
	// Revision is the last entry that it has.
	Revision() uint64
	// Durable is the last one that it keeps when the machine fails.
	Durable() uint64
	// Apply carries out committed entries, whose revisions continue, and leaves out those
	// up to Revision.
	Apply(entries []disk.Entry) error
	// Log has the entries from a revision on. disk.ErrTrimmed: they are not kept.
	Log(from uint64) (*disk.LogIter, error)
	// Terms are those of the log, also of entries that it does not keep any more.
	Terms() []disk.Span
	// Copy copies the store to a directory that does not exist.
	Copy(dir string) error
	// FirstLogged is the first revision that Log has, the next one if it has none.
	FirstLogged() uint64
}

// Options of a Node.
type Options struct {
	Group, Name string // of the group, and of this member in it
	Addr        string // at which clients and other members reach it
	Dir         string // of the data directory: the journal is in it
	StoreID     string // the same at all members
	Store       Store
	Coord       Decider
	// Lanes accepts the streams of other members; Dial opens one.
	Lanes net.Listener
	Dial  func(ctx context.Context, addr string) (net.Conn, error)
	// Key is what this member shows to others, nil: nothing. Admit checks what another one
	// shows, nil: no key is needed; lost is called when the key ends later, unless stop was.
	Key   func() (string, error)
	Admit func(key string, lost func()) (stop func() bool, err error)
	// Rings carry frames and acknowledgements by RDMA, nil: streams do, as a follower and as a
	// primary.
	Rings *Rings
	// Started is called before the first stream is accepted: from then on AcceptRing answers.
	Started func(*Node)
	Times   replica.Options // zero: replica.DefaultOptions
	// MinInSync and Level are those of a new group; they stay.
	MinInSync int
	Level     replica.Level
	Logger    *slog.Logger
	// Prepare is called when this member has become the primary of a term, and again until it
	// returns nil. Before that it takes no write, and its readers are refused. nil: it is
	// ready at once.
	Prepare func(ctx context.Context, term uint64) error
	// Copy is called when the log of the primary does not go back to this member's any more.
	// The node has ended then. The store must be replaced by a copy (FetchCopy).
	Copy func()
}

// Decider is the coordinator; *coord.Client is one.
type Decider interface {
	Get(ctx context.Context, key string) (coord.Value, error)
	Swap(ctx context.Context, key string, version int64, value []byte) (int64, error)
	Watch(ctx context.Context, key string, wake func())
}

const (
	// tick is how often beacons are sent.
	tick = 10 * time.Millisecond
	// trimTicks is how often the beginning of the store's log is looked at.
	trimTicks = 100
)

// Node is a running member. All methods are safe for concurrent use.
type Node struct {
	o      Options
	log    *slog.Logger
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	events chan event

	// Used by the loop.
	m        *replica.Member
	out      []replica.Action
	proposal *proposal
	cuts     uint64 // how often the log was cut off
	marks    map[replica.ID]*mark
	peers    []replica.Peer

	id       replica.ID
	boot     uint64
	tail     *tail
	disk     *queue[diskWork]
	decide   *queue[decision]
	apply    *applier
	lanes    *lanes
	copying  sync.Mutex // held while a copy is sent
	sending  atomic.Pointer[sending]
	proposes chan *proposal
	readers  readers
	prepared atomic.Uint64 // the term for which Prepare has returned

	status atomic.Pointer[Status]
	config atomic.Pointer[Group]
	ended  chan struct{}
	counts counts
}

// ErrClosed: the node has ended.
var ErrClosed = errors.New("replica: this member has ended")

// Start joins the group, or makes it if there is none, and takes part in it.
func Start(ctx context.Context, o Options) (*Node, error) {
	if o.Times == (replica.Options{}) {
		o.Times = replica.DefaultOptions
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	boot := rand.Uint64()
	j, was, err := journal.Open(filepath.Join(o.Dir, "journal"), o.Store.Revision(), history(o.Store.Terms()))
	if err != nil {
		return nil, err
	}
	var last uint64
	for _, s := range was.History {
		last = max(last, s.Term)
	}
	group, err := join(ctx, &o, boot, last)
	if err != nil {
		return nil, errors.Join(err, j.Close(true))
	}
	me := group.Member(o.Name)
	committed := o.Store.Revision()
	o.Logger.Info("joined", "group", group.Name, "node", me.Name, "id", me.ID, "term", group.Term, "primary", group.Primary,
		"revision", committed, "uncommitted", was.End()-min(was.End(), committed))
	n := &Node{o: o, log: o.Logger.With("group", o.Group, "node", o.Name), id: me.ID, boot: boot, events: make(chan event, 64),
		tail: newTail(was), proposes: make(chan *proposal), marks: map[replica.ID]*mark{}, ended: make(chan struct{})}
	n.m, err = replica.New(boottime.Now(), replica.Start{ID: me.ID, Boot: boot, Options: o.Times, End: max(was.End(), committed),
		Committed: committed, Trimmed: o.Store.FirstLogged() - 1, History: was.History, Clean: was.Clean})
	if err != nil {
		return nil, errors.Join(err, j.Close(true))
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.disk, n.decide = newQueue[diskWork](), newQueue[decision]()
	n.apply = newApplier(n)
	n.lanes = newLanes(n)
	n.counts.asked(false)
	n.learned(group)
	n.readers.granted.Store(&replica.Lease{})
	n.readers.fresh.Store(&replica.Lease{})
	n.status.Store(&Status{})
	if o.Started != nil {
		o.Started(n)
	}
	n.wg.Go(func() { n.runDisk(j, was.History) }) // It ends after the loop.
	n.wg.Go(n.runDecide)
	n.wg.Go(n.apply.run)
	n.wg.Go(n.lanes.accept)
	n.wg.Go(n.lanes.follow)
	n.wg.Go(func() { o.Coord.Watch(n.ctx, group.key(), func() { n.decide.put(decision{}) }) })
	n.wg.Go(n.loop)
	return n, nil
}

// history is what the protocol knows of a log's terms.
func history(spans []disk.Span) replica.History {
	h := make(replica.History, len(spans))
	for i, s := range spans {
		h[i] = replica.Span(s)
	}
	return h
}

// Close leaves the group's work, in order: what was acknowledged is on disk.
func (n *Node) Close() error {
	n.end()
	n.wg.Wait()
	return nil
}

// end stops all goroutines.
func (n *Node) end() {
	n.cancel()
	n.disk.close()
	n.decide.close()
	n.apply.close()
	n.lanes.close()
}

// event is one for the loop.
type event struct {
	is   replica.Event
	cuts uint64 // of a Synced: the cuts of the log before it
	do   func() // called by the loop, without an event
}

// notify hands an event to the loop.
func (n *Node) notify(e replica.Event) { n.send(event{is: e}) }

func (n *Node) send(e event) {
	select {
	case n.events <- e:
	case <-n.ctx.Done():
	}
}

// loop steps the state machine.
func (n *Node) loop() {
	defer close(n.ended)
	// What was proposed is in the journal, and may be at other members.
	defer n.fail(fmt.Errorf("%w: %w", replica.ErrUnknownOutcome, ErrClosed))
	t, ticks := time.NewTicker(tick), 0
	defer t.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-t.C:
			n.step(replica.Tick{})
			n.tail.trim(n.o.Store.Revision())
			n.mark()
			if ticks++; ticks%trimTicks == 0 {
				n.step(replica.Trimmed{Through: n.o.Store.FirstLogged() - 1})
				n.probe()
			}
		case e := <-n.events:
			if e.do != nil {
				e.do()
				continue
			}
			if _, ok := e.is.(replica.Synced); ok && e.cuts != n.cuts {
				continue // Some of it was cut off meanwhile.
			}
			n.step(e.is)
		case p := <-n.proposes:
			n.propose(p)
		}
	}
}

func (n *Node) step(e replica.Event) {
	n.out = n.m.Step(boottime.Now(), e, n.out[:0])
	for _, a := range n.out {
		n.act(a)
	}
	clear(n.out)
	s, was := n.m.Status(), n.status.Load()
	is := &Status{End: s.End, Durable: s.Durable, Committed: s.Committed, Leading: n.m.Leading(), Failed: n.m.Failed(),
		term: n.m.Config().Term, began: was.began}
	if is.Leading && (!was.Leading || was.term != is.term) {
		is.began = s.End
		n.prepare(n.m.Config().Term)
	}
	n.status.Store(is)
	n.freshen()
}

// act carries out an action, or hands it to the goroutine that does.
func (n *Node) act(a replica.Action) {
	switch a := a.(type) {
	case replica.Append:
		entries := n.tail.append(a.First, a.Entries)
		n.disk.put(diskWork{entries: entries, cuts: n.cuts, sync: n.m.Leading() || n.m.Config().Level == replica.Durable})
	case replica.Truncate:
		n.tail.truncate(a.After)
		n.cuts++
		n.disk.put(diskWork{truncate: true, after: a.After, cuts: n.cuts})
	case replica.Sync:
		n.disk.put(diskWork{sync: true, cuts: n.cuts})
	case replica.Publish:
		n.published(a.Through)
	case replica.Grant:
		n.readers.granted.Store(&a.Lease)
	case replica.Send:
		n.lanes.send(a.To, a.Message)
	case replica.Reply:
		if a.Err != nil {
			n.fail(a.Err)
		}
	case replica.Change:
		n.decide.put(decision{change: true, config: a.Config})
	case replica.Read:
		n.decide.put(decision{})
	case replica.Copy:
		n.copy(a.From)
	}
}

// prepare has the owner do what a new primary does first. The loop calls it.
func (n *Node) prepare(term uint64) {
	if n.o.Prepare == nil {
		n.prepared.Store(term)
		return
	}
	n.wg.Go(func() {
		said := ""
		for n.ctx.Err() == nil && n.config.Load().Term <= term {
			err := n.o.Prepare(n.ctx, term)
			if err == nil {
				// One of an earlier term may return later.
				for was := n.prepared.Load(); was < term && !n.prepared.CompareAndSwap(was, term); was = n.prepared.Load() {
				}
				return
			}
			if err.Error() != said {
				said = err.Error()
				n.log.Warn("this member is the primary, and not ready to be", "term", term, "error", err)
			}
			n.pause()
		}
	})
}

// copy ends this node, and has its store replaced.
func (n *Node) copy(from replica.ID) {
	g := n.config.Load()
	addr := ""
	if m := g.byID(from); m != nil {
		addr = m.Addr
	}
	n.log.Info("the log of the primary does not go back to this member's: its store is copied", "from", addr)
	go func() { // It waits for this goroutine.
		_ = n.Close()
		if n.o.Copy != nil {
			n.o.Copy()
		}
	}()
}

// A proposal is a batch of the store's commit leader.
type proposal struct {
	entries []replica.Entry
	last    uint64
	done    chan error
}

// Propose has a batch committed by the group: entries whose revisions follow Revision of the
// store. It returns when readers may see them. One goroutine at a time calls it.
//
// After fault.ErrNotPrimary and fault.ErrTooFewInSync the batch is not in the log, and never
// will be; after fault.ErrUnknownOutcome it may be.
func (n *Node) Propose(entries []disk.Entry) error {
	p := &proposal{last: entries[len(entries)-1].Revision, done: make(chan error, 1)}
	for i := range entries {
		e := entries[i] // The log keeps it.
		keep(&e)
		p.entries = append(p.entries, replica.Entry{Data: &e})
	}
	select {
	case n.proposes <- p:
	case <-n.ctx.Done():
		return fmt.Errorf("%w: %w", fault.ErrNotPrimary, ErrClosed)
	}
	return outcome(<-p.done)
}

// outcome gives an error of the protocol the sentinel by which callers know it.
func outcome(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, replica.ErrUnknownOutcome):
		return fmt.Errorf("%w: %w", fault.ErrUnknownOutcome, err)
	case errors.Is(err, replica.ErrTooFew):
		return fmt.Errorf("%w: %w", fault.ErrTooFewInSync, err)
	}
	return fmt.Errorf("%w: %w", fault.ErrNotPrimary, err)
}

// Failed ends this member's part: its store does not have entries that the group has.
func (n *Node) Failed(err error) { n.failed(n.o.Store.Revision()+1, err) }

// keep copies what the commit leader uses again.
func keep(e *disk.Entry) {
	b := make([]byte, 0, len(e.Key)+len(e.Value)+len(e.Old))
	b = append(append(append(b, e.Key...), e.Value...), e.Old...)
	k, v := len(e.Key), len(e.Key)+len(e.Value)
	e.Key, e.Value, e.Old = b[:k:k], b[k:v:v], b[v:]
}

func (n *Node) propose(p *proposal) {
	if n.m.Failed() { // It answers nothing any more.
		p.done <- fmt.Errorf("%w: this member takes part no more", replica.ErrNotPrimary)
		return
	}
	if term := n.m.Config().Term; n.m.Leading() && n.prepared.Load() != term {
		p.done <- fmt.Errorf("%w: this member is the primary of term %d, and prepares for it", replica.ErrNotReady, term)
		return
	}
	first := p.last - uint64(len(p.entries)) + 1
	if end := n.m.Status().End; n.m.Leading() && first != end+1 {
		// The store has not all entries of this term's beginning yet.
		p.done <- fmt.Errorf("%w: the store is at revision %d, the log at %d", replica.ErrNotReady, first-1, end)
		return
	}
	n.proposal = p
	n.step(replica.Propose{Entries: p.entries})
}

// fail ends the proposal.
func (n *Node) fail(err error) {
	if n.proposal != nil {
		n.proposal.done <- err
		n.proposal = nil
	}
}

// published lets readers see entries.
func (n *Node) published(through uint64) {
	if p := n.proposal; p != nil && through >= p.last {
		// Their own store commits these.
		n.apply.put(p.last - uint64(len(p.entries)))
		p.done <- nil
		n.proposal = nil
		return
	}
	n.apply.put(through)
}

// HandOver asks this member, the primary, to make another one the primary.
func (n *Node) HandOver(to replica.ID) { n.notify(replica.HandOver{To: to}) }

// Status is where a member is.
type Status struct {
	End, Durable, Committed uint64
	Leading                 bool
	Failed                  bool // it takes part no more: see its log

	term  uint64
	began uint64 // the end of the log when this member became the primary
}

// Applied is the last revision that this member's readers see.
func (n *Node) Applied() uint64 { return n.o.Store.Revision() }

// Serves reports whether this member is the primary, and its readers see all that the
// primaries before it have acknowledged.
func (n *Node) Serves() bool {
	_, serves := n.Leads()
	return serves
}

// Leads returns the term in which this member is the primary, and Serves.
func (n *Node) Leads() (term uint64, serves bool) {
	s := n.Status()
	return s.term, s.Leading && n.prepared.Load() == s.term && n.Applied() >= s.began
}

// Lane says how the log comes from the primary. The zero LaneStatus: it does not.
func (n *Node) Lane() LaneStatus { return n.lanes.status() }

// Status returns where this member is.
func (n *Node) Status() Status { return *n.status.Load() }

// Group returns the group as it was last read.
func (n *Node) Group() *Group { return n.config.Load() }
