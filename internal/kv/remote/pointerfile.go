package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"time"
	"unsafe"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/mapped"
)

// Pointers of several processes
//
// HydraDB's clients of a machine share pointers (section 4.2.4). Here those of one user do, by
// a file that they map. Numbers are little-endian.
//
//	byte 0    | "CFPOINT\n" |
//	     8    | version u32 | bytes of a set u32 |
//	     16   | sets u64    |
//	     24   | zeros       |
//	     128  | sets, each two lines (pointers.go), to the file's end
//
// The file appears with its header and its full size, and neither changes. So there is no
// moment to wait for, and no process to wait for. Its blocks are reserved: a store never
// finds the file system full.
//
// # One file for all servers
//
// No header says whose the entries are, since a file outlives servers, and a client may have
// several. Each entry's tag does: a region is a hash of
//
//	the server's address, as the client was given it; its boot number; the collection
//	the machine's start and the clock's namespace
//
// so an entry of another one is not found, whatever its words are, and its lease ends.
//
// # Times
//
// Ends of leases are of CLOCK_MONOTONIC, which the processes of a machine have in common, but
// for those in another time namespace: hence that is in the region. A process knows how far that is
// ahead of its own clock but for the time between two readings. A writer takes the least
// that it may be, and a reader the most; so no end is later than it was at the writer.
//
// # What a damaged entry, or a hostile process, can do
//
// An entry is a reference and a time. The reference is checked to lie in the known memory
// (record.Space.Check); the time is at most record.MaxLease from now, whatever the words are. So the worst
// is a Read by a wrong reference, or by a right one after its lease. The bytes are believed
// if Space.Parse takes them: the guardian is alive and of the reference's generation, the
// key is the one that is wanted, and the check sum, which includes reference and boot
// number, is right. That is a late reader's defence ("Late readers" of internal/record/readers.go), and what
// passes it, once in 2^32 mixtures of lines, is no more than what a client that was stopped may
// see. Anything else is looked up. A hit costs its read, and no value comes from here.
//
// One thing the record cannot show: whether a reference leads to the beginning of a
// place. A process that may put records into the collection can store a value which looks
// like a record of any key, check sum and all, and name its middle in an entry. It must be of
// the same user, and may write the collection's keys anyhow. Do not share
// pointers with processes that you would not let do that: the file is of mode 0600, in
// no other user's hands, and sharing is not the default.
//
// A process of the user can also cut the file off, and others that then read it die (SIGBUS), as by any
// other signal which that user may send. To remove the file is harmless: those that have
// it mapped continue, the next one makes another.

const (
	fileMagic   = "CFPOINT\n"
	fileVersion = 1
	fileHeader  = setBytes
)

var (
	// ErrPointerFile: the file is none of shared pointers, or damaged.
	ErrPointerFile = errors.New("kv/remote: not a file of shared pointers")
	// ErrPointerVersion: the file is of another version of this program.
	ErrPointerVersion = errors.New("kv/remote: shared pointers of another version")
)

// PointerFile is memory for Pointers of any number of Maps, which all processes of a user share that open
// the same file. It is unmapped when neither it nor its Pointers are reachable any more.
type PointerFile struct {
	sets  []pointerSet
	clock machineClock
}

// OpenPointerFile maps the file, which it makes, of at most that many bytes but room for five
// entries, if there is none. clock is that of the Pointers' users. It is for Linux. Errors
// wrap ErrPointerFile, ErrPointerVersion, mapped.ErrNotOurs or those of the system.
func OpenPointerFile(path string, limit int64, clock func() time.Duration) (*PointerFile, error) {
	sets := max((limit-fileHeader)/setBytes, 1)
	mem, err := mapped.OpenShared(path, fileHeader+sets*setBytes, appendFileHeader(nil, uint64(sets)))
	if err != nil {
		return nil, err
	}
	f := new(PointerFile)
	if f.sets, err = fileSets(mem); err == nil {
		f.clock, err = readMachineClock(clock)
	}
	if err != nil && len(mem) > 0 {
		err = errors.Join(err, mapped.Unmap(mem))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	runtime.AddCleanup(f, func(mem []byte) { _ = mapped.Unmap(mem) }, mem) // It fails for no mapping.
	return f, nil
}

func appendFileHeader(b []byte, sets uint64) []byte {
	b = append(b, fileMagic...)
	b = binary.LittleEndian.AppendUint32(b, fileVersion)
	b = binary.LittleEndian.AppendUint32(b, setBytes)
	return binary.LittleEndian.AppendUint64(b, sets)
}

// fileSets checks the header of a mapped file, which may be any, and returns its sets.
//
// SAFETY: the sets are of mem, which begins at a page, so their words are aligned; they are
// words alone, for which all bytes are right.
func fileSets(mem []byte) ([]pointerSet, error) {
	if len(mem) < fileHeader || string(mem[:8]) != fileMagic {
		return nil, fmt.Errorf("%w: %d bytes that begin with %q", ErrPointerFile, len(mem), mem[:min(len(mem), 8)])
	}
	if v := binary.LittleEndian.Uint32(mem[8:]); v != fileVersion {
		return nil, fmt.Errorf("%w: version %d, want %d: remove it or name another", ErrPointerVersion, v, fileVersion)
	}
	bytes, sets := binary.LittleEndian.Uint32(mem[12:]), binary.LittleEndian.Uint64(mem[16:])
	if hi, n := bits.Mul64(sets, setBytes); bytes != setBytes || sets == 0 || hi != 0 || n != uint64(len(mem)-fileHeader) {
		return nil, fmt.Errorf("%w: %d bytes, said to have %d sets of %d: remove it", ErrPointerFile, len(mem), sets, bytes)
	}
	return unsafe.Slice((*pointerSet)(unsafe.Pointer(&mem[fileHeader])), sets), nil
}

// pointers are those of a Map in the file.
func (f *PointerFile) pointers(k PointersKey) *Pointers {
	name := binary.LittleEndian.AppendUint64([]byte(k.Addr), k.BootID)
	name = binary.LittleEndian.AppendUint32(name, k.Collection)
	return &Pointers{
		sets: f.sets, file: f, clock: f.clock, region: cuckoo.Hash(f.clock.name, name),
		due: &renewals{ring: make([]Renewal, min(len(f.sets)*pointerWays, maxRenewals))},
	}
}

// machineClock is a process's knowledge of the clock of all.
type machineClock struct {
	// It is ahead of the process's by ahead to ahead + within.
	ahead, within time.Duration
	name          uint64 // differs where the clock does
}

// latest is a time of the process by the machine's clock, or later.
func (c *machineClock) latest(t time.Duration) time.Duration { return t + c.ahead + c.within }

// machine is a time of the process by the machine's clock, or earlier.
func (c *machineClock) machine(t time.Duration) time.Duration { return t + c.ahead }

// local is a time of the machine by the process's clock, or earlier.
func (c *machineClock) local(t time.Duration) time.Duration { return t - c.ahead - c.within }
