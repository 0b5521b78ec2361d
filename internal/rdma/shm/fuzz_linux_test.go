package shm

import (
	"context"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/internal/rdma"
)

// descriptors are what a hostile peer may send where memory is expected.
func descriptors(t testing.TB) []int {
	memory := func(size int64, seals int) int {
		fd, err := unix.MemfdCreate("fuzz", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		check(t, err)
		check(t, unix.Ftruncate(fd, size))
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
		check(t, err)
		return fd
	}
	open := func(path string, flags int) int {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		check(t, err)
		return fd
	}
	sockets, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	check(t, err)
	var pipe [2]int
	check(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC))
	fds := []int{
		memory(tableBytes, sizeSeals),
		memory(1<<16, 0),
		memory(1, sizeSeals),
		memory(maxRegionBytes, sizeSeals),
		memory(1<<20, sizeSeals|unix.F_SEAL_WRITE),
		open("/dev/null", unix.O_RDWR),
		open("/", unix.O_RDONLY|unix.O_DIRECTORY),
		open("/proc/self/exe", unix.O_RDONLY),
		sockets[0], pipe[0], pipe[1],
	}
	t.Cleanup(func() { closeAll(append(fds, sockets[1])) })
	return fds
}

// packet is one message of a script, which is a sequence of
//
//	number of descriptors | the first of them | bytes that follow | bytes...
func packet(script []byte, pool []int) (message []byte, fds []int, rest []byte) {
	for i := range int(script[0] % 20) { // more than the receiver takes
		fds = append(fds, pool[(int(script[1])+i)%len(pool)])
	}
	n := min(int(script[2]), len(script)-3)
	return script[3 : 3+n], fds, script[3+n:]
}

func scripted(message []byte, fds, first byte) []byte {
	return append([]byte{fds, first, byte(len(message))}, message...)
}

func openFiles(t testing.TB) int {
	files, err := os.ReadDir("/proc/self/fd")
	check(t, err)
	return len(files)
}

// noneLeft fails if, in the end, descriptors are open that were not before.
func noneLeft(t *testing.T) {
	before := openFiles(t)
	t.Cleanup(func() {
		eventually(t, "descriptors are closed", func() bool { return openFiles(t) <= before })
	})
}

// FuzzControl: any messages of a connected peer, with any descriptors, end at
// most its own connection. No descriptor stays open.
func FuzzControl(f *testing.F) {
	var b [answerBytes]byte
	for _, c := range controls {
		c.key = 99
		for _, fds := range []byte{0, 1, 2, 15} {
			f.Add(scripted(c.encode(&b), fds, 0))
		}
	}
	for _, size := range []uint64{1, 1 << 16, 1 << 20, 1 << 30, maxRegionBytes} {
		for first := range byte(11) {
			f.Add(scripted((&control{kind: kindAnswer, key: 99, access: everything & remoteAccess, size: size}).encode(&b), 1, first))
		}
	}
	f.Add(scripted([]byte{kindEnd, 'x'}, 0, 0))
	pool := descriptors(f)
	s, good := newSideOf(f, Options{MaxMapped: 1 << 20}), newSide(f, 4096)
	l := listen(f, s)
	connect(f, l, good, s)
	goodEnd := s.qp
	f.Fuzz(func(t *testing.T, script []byte) {
		noneLeft(t)
		r := rawDial(t, l, s)
		post(t, s.qp, transfer(rdma.OpRead, s.mem, 99, 8))
		for len(script) > 3 {
			message, fds, rest := packet(script, pool)
			script = rest
			// It fails once the server has ended the connection, or has no
			// room for a peer that does not read.
			check(t, r.conn.SetWriteDeadline(time.Now().Add(time.Second)))
			if len(message) > 0 && sendMessage(r.conn, message, fds...) != nil {
				break
			}
		}
		check(t, r.conn.Close())
		check(t, s.qp.Close())
		post(t, good.qp, rdma.WorkRequest{Op: rdma.OpWriteImm, Imm: 5, Unsignaled: true})
		for {
			if c := next(t, s.cq); c.QP == goodEnd {
				check(t, errOf(c))
				break
			}
		}
	})
}

// FuzzGreeting: any first message of a dialer is refused, or accepted if it is
// a hello; the listener continues. No descriptor stays open.
func FuzzGreeting(f *testing.F) {
	for _, g := range []greeting{
		{kind: kindHello, version: version, depth: 3, private: []byte("p")},
		{kind: kindHello, version: version, depth: maxDepth},
		{kind: kindHello, version: version + 1, depth: 3},
		{kind: kindReject, version: version, reason: "no"},
	} {
		for _, fds := range []byte{0, 1, 2, 3, 15} {
			for first := range byte(11) {
				f.Add(scripted(g.encode(), fds, first))
			}
		}
	}
	pool := descriptors(f)
	s := newSide(f, 4096)
	l := listen(f, s)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			req, err := l.Accept(context.Background())
			if err != nil {
				return
			}
			if q, err := req.Accept(s.config(), nil); err == nil {
				_ = q.Close()
			}
		}
	}()
	f.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) < 4 {
			return
		}
		noneLeft(t)
		message, fds, _ := packet(script, pool)
		r := rawConn(t, l.Addr())
		check(t, sendMessage(r.conn, message, fds...))
		_, got, err := receiveMessage(r.conn, r.buf)
		if err == nil {
			closeAll(got)
		}
		check(t, r.conn.Close())
	})
}
