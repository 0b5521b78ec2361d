package shm

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxPath is the longest socket path: sun_path has 108 bytes, one for
// the terminator (unix(7)).
const maxPath = 107

// sendTimeout bounds a control goroutine's wait for a peer that does not read
// its socket.
const sendTimeout = time.Second

// errFull means that the peer does not read its socket.
var errFull = errors.New("shm: peer does not read its control messages")

// checkPath refuses abstract names ("@..."), which no file mode guards, and
// other names that are no path.
func checkPath(addr string) error {
	switch {
	case addr == "" || addr[0] == '@' || strings.ContainsRune(addr, 0):
		return fmt.Errorf("shm: address %q: need the path of a unix socket", addr)
	case len(addr) > maxPath:
		return fmt.Errorf("shm: address of %d bytes (%.20q...): the limit of a unix socket's path is %d",
			len(addr), addr, maxPath)
	}
	return nil
}

// sendMessage sends one packet, with descriptors. It waits for room.
func sendMessage(c *net.UnixConn, b []byte, fds ...int) error {
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	_, _, err := c.WriteMsgUnix(b, oob, nil)
	return err
}

// receiveMessage receives one packet into buf. The caller closes fds.
func receiveMessage(c *net.UnixConn, buf []byte) (b []byte, fds []int, err error) {
	in, err := newInlet(c, buf)
	if err != nil {
		return nil, nil, err
	}
	return in.receive()
}

// inlet receives packets. It exists because of wake-ups, of which there may be
// one per request: net's ReadMsgUnix allocates the sender's address for each.
type inlet struct {
	raw    syscall.RawConn
	buf    []byte
	space  [64]byte // more than CmsgSpace(4*maxFds); the kernel drops the rest
	part   unix.Iovec
	header unix.Msghdr
	read   func(fd uintptr) (done bool) // made once, as outlet.wake
	n      int
	errno  syscall.Errno
}

func newInlet(c *net.UnixConn, buf []byte) (*inlet, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	i := &inlet{raw: raw, buf: buf}
	i.part.Base = unsafe.SliceData(buf)
	i.part.SetLen(len(buf))
	i.read = func(fd uintptr) bool {
		for {
			i.header = unix.Msghdr{Iov: &i.part, Control: &i.space[0]}
			i.header.SetIovlen(1)
			i.header.SetControllen(len(i.space))
			n, _, errno := unix.Syscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&i.header)), unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
			if i.n, i.errno = int(n), errno; errno != unix.EINTR {
				return errno != unix.EAGAIN
			}
		}
	}
	return i, nil
}

// receive receives one packet, into buf. The caller closes fds.
func (i *inlet) receive() (b []byte, fds []int, err error) {
	if err := i.raw.Read(i.read); err != nil {
		return nil, nil, err
	}
	if i.errno != 0 {
		return nil, nil, os.NewSyscallError("recvmsg", i.errno)
	}
	if n := i.header.Controllen; n > 0 {
		fds = parseRights(i.space[:n])
	}
	switch flags := i.header.Flags; {
	case i.n == 0:
		err = io.EOF
	case flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0:
		err = fmt.Errorf("%w: longer than %d bytes or more than %d descriptors", errMessage, len(i.buf), maxFds)
	case len(fds) > maxFds:
		err = fmt.Errorf("%w: %d descriptors, the limit is %d", errMessage, len(fds), maxFds)
	}
	if err != nil {
		closeAll(fds)
		return nil, nil, err
	}
	return i.buf[:i.n], fds, nil
}

func parseRights(oob []byte) (fds []int) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for i := range messages {
		if got, err := unix.ParseUnixRights(&messages[i]); err == nil {
			fds = append(fds, got...)
		}
	}
	return fds
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// outlet sends small packets without ever waiting: neither for the peer to
// read, nor for another writer of this process.
type outlet struct {
	raw  syscall.RawConn
	wake func(fd uintptr) // made once: no allocation per wake-up
}

func newOutlet(c *net.UnixConn) (*outlet, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	message := []byte{kindWake}
	return &outlet{raw, func(fd uintptr) {
		// Full: unread wake-ups are on their way (ring.go). Broken: the
		// control goroutine will notice.
		_ = unix.Send(int(fd), message, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	}}, nil
}

func (o *outlet) sendWake() { _ = o.raw.Control(o.wake) }

// sendEnd sends the peer the reason for ending the connection, if there is room.
func (o *outlet) sendEnd(reason string) {
	b := append([]byte{kindEnd}, reason[:min(len(reason), maxReason)]...)
	_ = o.raw.Control(func(fd uintptr) {
		_ = unix.Send(int(fd), b, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	})
}

// send returns errFull if the peer's queue is full.
func (o *outlet) send(m control) error {
	var b [answerBytes]byte
	bytes := m.encode(&b)
	var err error
	if e := o.raw.Control(func(fd uintptr) {
		err = unix.Send(int(fd), bytes, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	}); e != nil {
		return e
	}
	if errors.Is(err, unix.EAGAIN) {
		return errFull
	}
	return err
}
