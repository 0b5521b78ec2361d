package netns

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Switch is several namespaces and the network between them, which this process is: each
// namespace has a TUN device (Linux' Documentation/networking/tuntap), whose packets come
// here and go on to the one of their destination. So no kernel module decides what may be
// cut, and in which direction.
//
//	namespace 0, 198.18.1.1     namespace 1, 198.18.1.2     ...
//	  device "wire"               device "wire"
//	        \___________ this process ___________/
//	              cut, one way or both; delayed
type Switch struct {
	name  string // of the namespaces, without number
	ports []*port
	ways  [][]chan delayed // long ways, from and to
	wg    sync.WaitGroup

	mu    sync.Mutex
	links map[[2]int]fault // from, to
}

// port is the end of a namespace's device.
type port struct {
	tun     *os.File
	packets atomic.Uint64 // that came from the namespace
}

// fault is what becomes of the packets of one direction.
type fault struct {
	cut   bool
	delay time.Duration
}

// maxPorts is how many namespaces a Switch has at most.
const maxPorts = 200

// mtu is longer than an Ethernet's, so that a packet costs this process less.
const mtu = 9000

// SwitchAvailable returns nil if this process can make a Switch, else an error that wraps
// ErrUnavailable.
func SwitchAvailable(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: needs root, runs as user %d", ErrUnavailable, os.Geteuid())
	}
	s, err := NewSwitch(ctx, 1)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return s.Close()
}

// NewSwitch makes n namespaces, all of which reach each other. It leaves nothing when it
// fails or ctx is done.
func NewSwitch(ctx context.Context, n int) (_ *Switch, err error) {
	if n < 1 || n > maxPorts {
		return nil, fmt.Errorf("netns: a switch of %d namespaces, want 1 to %d", n, maxPorts)
	}
	name, err := newName()
	if err != nil {
		return nil, err
	}
	s := &Switch{name: name, links: map[[2]int]fault{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	for i := range n {
		if err := s.add(ctx, i); err != nil {
			return nil, err
		}
	}
	s.ways = make([][]chan delayed, n)
	for i := range s.ports {
		s.ways[i] = make([]chan delayed, n)
		s.wg.Go(func() {
			s.forward(i)
			for _, way := range s.ways[i] {
				if way != nil {
					close(way)
				}
			}
		})
	}
	return s, nil
}

// add makes namespace i. Its device is made here under a name of its own, and moves.
func (s *Switch) add(ctx context.Context, i int) error {
	if err := run(ctx, "ip", "netns", "add", s.Namespace(i)); err != nil {
		return err
	}
	// At most 15 bytes, and no other process has the same.
	device := fmt.Sprintf("cf%08x%x", rand.Uint32(), i)
	tun, err := openTun(device)
	if err != nil {
		return err
	}
	s.ports = append(s.ports, &port{tun: tun})
	for _, args := range [][]string{
		{"ip", "link", "set", device, "netns", s.Namespace(i), "name", Device},
		{"ip", "-n", s.Namespace(i), "addr", "add", s.Addr(i) + "/24", "dev", Device},
		{"ip", "-n", s.Namespace(i), "link", "set", Device, "mtu", fmt.Sprint(mtu), "up"},
		{"ip", "-n", s.Namespace(i), "link", "set", "lo", "up"},
	} {
		if err := run(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

func openTun(device string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("netns: /dev/net/tun: %w", err)
	}
	r, err := unix.NewIfreq(device)
	if err == nil {
		r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, r)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("netns: device %s: %w", device, err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "/dev/net/tun"), nil
}

// Namespace is the name of namespace i.
func (s *Switch) Namespace(i int) string { return fmt.Sprintf("%sp%d", s.name, i) }

// Addr is the IP address of namespace i.
func (s *Switch) Addr(i int) string {
	return netip.AddrFrom4([4]byte{198, 18, 1, byte(i + 1)}).String()
}

// Packets is how many packets namespace i has sent.
func (s *Switch) Packets(i int) uint64 { return s.ports[i].packets.Load() }

// Cut loses all packets from one namespace to another, also those on the way, until Heal.
func (s *Switch) Cut(from, to int) { s.set(from, to, fault{cut: true}) }

// Delay lets packets from one namespace to another arrive later, in order, until Heal.
func (s *Switch) Delay(from, to int, d time.Duration) { s.set(from, to, fault{delay: d}) }

func (s *Switch) set(from, to int, f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links[[2]int{from, to}] = f
}

func (s *Switch) fault(from, to int) fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.links[[2]int{from, to}]
}

// Heal ends all faults. Packets that are delayed still arrive late.
func (s *Switch) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.links)
}

// forward takes the packets of namespace i.
func (s *Switch) forward(i int) {
	b := make([]byte, mtu+1)
	for {
		n, err := s.ports[i].tun.Read(b)
		if err != nil {
			return
		}
		// IPv4 (RFC 791): the destination is bytes 16 to 19.
		if n < 20 || b[0]>>4 != 4 {
			continue
		}
		s.ports[i].packets.Add(1)
		to := int(b[19]) - 1
		if b[16] != 198 || b[17] != 18 || b[18] != 1 || to < 0 || to >= len(s.ports) {
			continue
		}
		switch f := s.fault(i, to); {
		case f.cut:
		case f.delay > 0:
			s.late(i, to, delayed{time.Now().Add(f.delay), append([]byte(nil), b[:n]...)})
		default:
			s.deliver(to, b[:n])
		}
	}
}

// delayed is a packet on a long way.
type delayed struct {
	due    time.Time
	packet []byte
}

// maxLate is how many packets are on the way of one direction at most; more are lost.
const maxLate = 1 << 14

// late sends a packet on the long way of its direction, which keeps the order.
func (s *Switch) late(from, to int, d delayed) {
	way := s.ways[from][to]
	if way == nil { // Only this goroutine, that of from, uses it.
		way = make(chan delayed, maxLate)
		s.ways[from][to] = way
		s.wg.Go(func() {
			for d := range way {
				sleepUntil(d.due)
				if !s.fault(from, to).cut { // A cut loses what is on the way, too.
					s.deliver(to, d.packet)
				}
			}
		})
	}
	select {
	case way <- d:
	default:
	}
}

// short is a delay of which half a millisecond would be much.
const short = 10 * time.Millisecond

// sleepUntil sleeps until a time. Go's timers may be late by a millisecond in a process that does
// nothing else (epoll_wait counts in milliseconds), so what is short the kernel's timer
// measures, without the 50 us by which it may join what threads wait for (prctl(2),
// PR_SET_TIMERSLACK).
func sleepUntil(due time.Time) {
	left := time.Until(due)
	if left > short {
		time.Sleep(left)
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // Without it packets are later.
	for ; left > 0; left = time.Until(due) {           // A signal may end a sleep.
		t := unix.NsecToTimespec(left.Nanoseconds())
		_ = unix.Nanosleep(&t, nil)
	}
}

// deliver may lose a packet, as networks may: a device that is full or closed.
func (s *Switch) deliver(to int, packet []byte) { _, _ = s.ports[to].tun.Write(packet) }

// Close removes the namespaces, once the last process inside has ended, and ends the
// network. It may be called again.
func (s *Switch) Close() error {
	var failed error
	for _, p := range s.ports {
		_ = p.tun.Close() // Again is no harm.
	}
	s.wg.Wait()
	names, err := list(context.Background())
	if err != nil {
		return err
	}
	for _, n := range names {
		if len(n) > len(s.name) && n[:len(s.name)] == s.name {
			failed = errors.Join(failed, remove(n))
		}
	}
	return failed
}
