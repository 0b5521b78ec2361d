package shm

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/rdma"
)

func newSideOf(t testing.TB, o Options) *side {
	t.Helper()
	dev, err := Open(o)
	check(t, err)
	d := dev.(*device)
	t.Cleanup(func() { check(t, d.Close()) })
	cq, err := d.CreateCQ(0)
	check(t, err)
	r, err := d.Register(4096, everything)
	check(t, err)
	return &side{dev: d, cq: cq.(*completionQueue), mem: r}
}

// offer answers the one outstanding request for a key with a sparse region.
func (r *rawPeer) offer(key rdma.Key, size int) {
	r.t.Helper()
	fd, err := unix.MemfdCreate("sparse", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	check(r.t, err)
	defer unix.Close(fd)
	check(r.t, unix.Ftruncate(fd, int64(size)))
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, sizeSeals)
	check(r.t, err)
	m := control{kind: kindAnswer, key: key, access: everything & remoteAccess, size: uint64(size)}
	var b [answerBytes]byte
	check(r.t, sendMessage(r.conn, m.encode(&b), fd))
}

// ended returns the reason that the server sent for ending the connection.
func (r *rawPeer) ended() string {
	r.t.Helper()
	for {
		b, fds, err := receiveMessage(r.conn, r.buf)
		check(r.t, err)
		closeAll(fds)
		m, err := decodeControl(b)
		check(r.t, err)
		if m.kind == kindEnd {
			return m.reason
		}
	}
}

// A client that answers with sparse files of terabytes filled the address
// space of the server. Now it loses its own connection, and nothing is mapped.
func TestMappedBytesOfOnePeer(t *testing.T) {
	const limit = 1 << 20
	s := newSideOf(t, Options{MaxMapped: limit})
	l, good := listen(t, s), newSide(t, limit)
	connect(t, l, good, s)
	goodEnd := s.qp
	r := rawDial(t, l, s)
	post(t, s.qp, transfer(rdma.OpWrite, s.mem, 1, 8))
	r.offer(1, limit-pageBytes)
	check(t, errOf(next(t, s.cq))) // a region that fits is mapped
	post(t, s.qp, transfer(rdma.OpWrite, s.mem, 2, 8))
	r.offer(2, pageBytes+1)
	refused := next(t, s.cq)
	if refused.Op == rdma.OpRecv {
		refused = next(t, s.cq)
	}
	if refused.Status != rdma.StatusRemoteAccess {
		t.Errorf("the request that needed it: %q", refused.Status)
	}
	if err := refused.Err(); !errors.Is(err, ErrLimit) || !errors.Is(err, rdma.ErrCompletion) {
		t.Errorf("its error: %v", err)
	}
	if err := s.qp.Err(); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "limit 1048576 for one") {
		t.Errorf("the server says %v", err)
	}
	if why := r.ended(); !strings.Contains(why, "limit 1048576 for one") {
		t.Errorf("the peer was told %q", why)
	}
	post(t, goodEnd, transfer(rdma.OpWrite, s.mem, good.mem.Key(), 8))
	for {
		if c := next(t, s.cq); c.QP == goodEnd {
			check(t, errOf(c))
			break
		}
	}
}

// Regions that a peer closes free their bytes; those that it keeps open count.
func TestMappedBytesAreGivenBack(t *testing.T) {
	mapped := limits.NewBudget("mapped bytes", 1<<30, 1<<30)
	s := newSideOf(t, Options{MaxMapped: 1 << 20, Mapped: mapped})
	r := rawDial(t, listen(t, s), s)
	fixed := mapped.Use().Used
	if want := int64(pages(ringBytes(rawDepth)) + tableBytes); fixed != want {
		t.Errorf("a connection without regions counts %d bytes, want %d", fixed, want)
	}
	var b [answerBytes]byte
	for key := rdma.Key(1); key < 5; key++ {
		post(t, s.qp, transfer(rdma.OpWrite, s.mem, key, 8))
		r.offer(key, 1<<20)
		check(t, errOf(next(t, s.cq)))
		if got := mapped.Use().Used - fixed; got != 1<<20 {
			t.Errorf("%d bytes of regions are counted", got)
		}
		check(t, sendMessage(r.conn, (&control{kind: kindRevoke, key: key}).encode(&b)))
		eventually(t, "the region is unmapped", func() bool { return mapped.Use().Used == fixed })
	}
	check(t, r.conn.Close())
	eventually(t, "all is given back", func() bool { return mapped.Use().Used == 0 })
}

// When all together have too much mapped, the connection that has most is
// cut and gets the reason, and the others are not affected.
func TestMappedBytesOfAll(t *testing.T) {
	const region = 1 << 20
	each := int64(pages(ringBytes(rawDepth)) + tableBytes)
	mapped := limits.NewBudget("mapped bytes", 2*each+2*region, 2*each+2*region)
	s := newSideOf(t, Options{Mapped: mapped})
	l := listen(t, s)
	big := rawDial(t, l, s)
	bigEnd := s.qp
	small := rawDial(t, l, s)
	// All connections of this test come from one process.
	mapped2 := mapped.Open("uid 4711", nil)
	s.qp.mu.Lock()
	s.qp.holds.mapped.Close()
	s.qp.holds.mapped = mapped2
	check(t, mapped2.Take(each))
	s.qp.mu.Unlock()

	post(t, bigEnd, transfer(rdma.OpWrite, s.mem, 1, 8))
	big.offer(1, 2*region)
	check(t, errOf(next(t, s.cq)))
	post(t, s.qp, transfer(rdma.OpWrite, s.mem, 2, 8))
	small.offer(2, region/2)
	if why := big.ended(); !strings.Contains(why, "mapped bytes") {
		t.Errorf("the largest was told %q", why)
	}
	if err := bigEnd.Err(); !errors.Is(err, limits.ErrCut) {
		t.Errorf("the largest ended with %v", err)
	}
	for {
		if c := next(t, s.cq); c.Op == rdma.OpWrite {
			check(t, errOf(c))
			break
		}
	}
}

func TestConnectionsAreCounted(t *testing.T) {
	conns := limits.NewBudget("shm connections", 10, 2)
	s := newSideOf(t, Options{Connections: conns})
	l, c := listen(t, s), newSide(t, 4096)
	connect(t, l, c, s)
	first := c.qp
	connect(t, l, c, s)
	var rejected *rdma.RejectError
	_, err := c.dev.Dial(context.Background(), l.Addr(), c.config(), nil)
	if !errors.As(err, &rejected) || !strings.Contains(rejected.Reason, "limit 2 for one source") {
		t.Fatalf("a third connection: %v", err)
	}
	check(t, s.qp.Close())
	check(t, first.Close())
	eventually(t, "closed connections do not count", func() bool { return conns.Use().Used == 1 })
	connect(t, l, c, s)
}

// The source with most connections loses one to a source with fewer, and gets the reason.
func TestConnectionIsCutForAnother(t *testing.T) {
	conns := limits.NewBudget("shm connections", 2, 2)
	s := newSideOf(t, Options{Connections: conns})
	l, c := listen(t, s), newSide(t, 4096)
	connect(t, l, c, s)
	connect(t, l, c, s)
	check(t, conns.Open("uid 4711", nil).Take(1))
	if e := next(t, c.cq); e.Op != rdma.OpRecv || e.Status != rdma.StatusPeerLost || e.QP != c.qp {
		t.Errorf("the dialer sees %+v", e)
	}
	if err := c.qp.Err(); err == nil || !strings.Contains(err.Error(), "make room for others: shm connections") {
		t.Errorf("the dialer is told %v", err)
	}
}

// A request that was not accepted yet makes room, too.
func TestWaitingConnectionIsCut(t *testing.T) {
	conns := limits.NewBudget("shm connections", 1, 1)
	s := newSideOf(t, Options{Connections: conns})
	l, c := listen(t, s), newSide(t, 4096)
	dialed := make(chan error, 1)
	go func() {
		_, err := c.dev.Dial(context.Background(), l.Addr(), c.config(), nil)
		dialed <- err
	}()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := l.Accept(ctx)
	check(t, err)
	// A source without connections takes the room of one that holds one.
	other := conns.Open("uid 4711", nil)
	if err := other.Take(1); !errors.Is(err, limits.ErrExceeded) {
		t.Fatalf("one took the room of one: %v", err)
	}
	req.(*connRequest).holds.cut(limits.ErrCut)
	if _, err := req.Accept(s.config(), nil); !errors.Is(err, limits.ErrCut) {
		t.Errorf("Accept: %v", err)
	}
	if err := <-dialed; err == nil || !errors.Is(err, rdma.ErrRejected) {
		t.Errorf("Dial: %v", err)
	}
	if u := conns.Use(); u.Used != 0 {
		t.Errorf("%+v", u)
	}
}

// Silent connections, whatever their number, exclude no dialer that speaks:
// the oldest of them are closed, without waiting for them.
func TestSilentConnections(t *testing.T) {
	s, c := newSide(t, 4096), newSide(t, 4096)
	s.dev.greetTimeout = time.Hour
	l := listen(t, s)
	var silent []*rawPeer
	for range 4 {
		for range MaxSilent {
			silent = append(silent, rawConn(t, l.Addr()))
		}
		connect(t, l, c, s)
		check(t, c.qp.Close())
		check(t, s.qp.Close())
	}
	b, _, err := receiveMessage(silent[0].conn, silent[0].buf)
	check(t, err)
	if g, err := decodeGreeting(b); err != nil || g.kind != kindReject || !strings.Contains(g.reason, "no hello") {
		t.Errorf("the oldest silent one was told %+v, %v", g, err)
	}
	if u := s.dev.opt.Silent.Use(); u.Used > MaxSilent || u.Cut < 3*MaxSilent {
		t.Errorf("%+v", u)
	}
}

// While others fill the listener's backlog a dialer waits.
func TestFullBacklog(t *testing.T) {
	path := socketPath(t)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	check(t, err)
	defer unix.Close(fd)
	check(t, unix.Bind(fd, &unix.SockaddrUnix{Name: path}))
	check(t, unix.Listen(fd, 0)) // has room for one
	rawConn(t, path)
	c := newSide(t, 64)
	ctx, cancel := context.WithTimeout(context.Background(), 10*connectPause)
	defer cancel()
	if _, err := c.dev.Dial(ctx, path, c.config(), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Dial with a full backlog: %v", err)
	}
	refused := make(chan error, 1)
	go func() {
		_, err := c.dev.Dial(context.Background(), path, c.config(), nil)
		refused <- err
	}()
	for range 2 {
		at, _, err := unix.Accept(fd)
		check(t, err)
		check(t, unix.Sendto(at, refusal("not today"), 0, nil))
		defer unix.Close(at)
	}
	if err := <-refused; !errors.Is(err, rdma.ErrRejected) {
		t.Errorf("Dial, when there is room: %v", err)
	}
}

// A dialer that was refused before it spoke still learns why.
func TestRefusalBeforeTheHello(t *testing.T) {
	s := newSide(t, 4096)
	s.dev.greetTimeout = time.Nanosecond
	l := listen(t, s)
	r := rawConn(t, l.Addr())
	b, _, err := receiveMessage(r.conn, r.buf)
	check(t, err)
	if g, err := decodeGreeting(b); err != nil || g.kind != kindReject || g.reason != errSilent.Error() {
		t.Errorf("told %+v, %v", g, err)
	}
}

func TestMayConnect(t *testing.T) {
	const owner, group = 1000, 100
	for _, tc := range []struct {
		mode fs.FileMode
		p    process
		want bool
	}{
		{0o600, process{uid: owner}, true},
		{0o600, process{uid: 0}, true},
		{0o600, process{uid: 7, gid: group}, false},
		{0o660, process{uid: 7, gid: group}, true},
		{0o660, process{uid: 7, gid: 7, groups: []uint32{3, group}}, true},
		{0o660, process{uid: 7, gid: 7, groups: []uint32{3}}, false},
		{0o666, process{uid: 7, gid: 7}, true},
		{0o060, process{uid: owner, gid: group}, false},
	} {
		if got := tc.p.mayConnect(tc.mode, owner, group); got != tc.want {
			t.Errorf("mode %04o, %+v: %t", tc.mode, tc.p, got)
		}
	}
}

// Opening the socket's file to others does not change SocketMode.
func TestSocketModeHoldsForAnOpenedFile(t *testing.T) {
	s := newSide(t, 4096)
	l := listen(t, s).(*listener)
	check(t, os.Chmod(l.addr, 0o666))
	stranger := process{uid: uint32(os.Geteuid()) + 4711, gid: 4711}
	if err := l.admit(stranger); !errors.Is(err, errAdmit) || !strings.Contains(err.Error(), "mode is 0600") {
		t.Errorf("a stranger: %v", err)
	}
	check(t, l.admit(process{uid: uint32(os.Geteuid())}))
}

func TestSourceOfProcess(t *testing.T) {
	for _, tc := range []struct {
		p    process
		want string
	}{
		{process{pid: 5, uid: 1000}, "pid 5"},
		{process{pid: 6, uid: 0}, "pid 6"},
		{process{pid: 7, uid: 1001}, "uid 1001"},
	} {
		if got := tc.p.source(1000); got != tc.want {
			t.Errorf("%+v: %s, want %s", tc.p, got, tc.want)
		}
	}
}

// Both sides know the other's identity, from the kernel.
func TestPeerIsThisProcess(t *testing.T) {
	s, c := newSide(t, 64), newSide(t, 64)
	refuse := errors.New("somebody else's")
	var uid uint32
	var result error
	c.dev.opt.CheckPeer = func(u uint32) error { uid = u; return result }
	l := listen(t, s)
	connect(t, l, c, s)
	if uid != uint32(os.Geteuid()) {
		t.Errorf("the server's uid is %d", uid)
	}
	result = refuse
	_, err := c.dev.Dial(context.Background(), l.Addr(), c.config(), nil)
	if !errors.Is(err, refuse) || !errors.Is(err, rdma.ErrDial) {
		t.Errorf("Dial to somebody else's socket: %v", err)
	}
	p, err := peerOf(rawConn(t, l.Addr()).conn)
	check(t, err)
	if p.pid != int32(os.Getpid()) || p.gid != uint32(os.Getegid()) {
		t.Errorf("%+v", p)
	}
}

func TestConnectionsWithin(t *testing.T) {
	for _, tc := range []struct{ files, mappings, want int64 }{
		{1024, 65530, 384},
		{1 << 20, 65530, 8191},
		{1 << 30, 1 << 30, tableSlots},
		{0, 0, 1},
	} {
		if got := connectionsWithin(tc.files, tc.mappings); got != tc.want {
			t.Errorf("%d files, %d mappings: %d connections, want %d", tc.files, tc.mappings, got, tc.want)
		}
	}
}
