package catfish

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/rdma"
	"github.com/catfish-index/catfish/rstar"
)

// The payloads of messages, little-endian. Every request but open and stats
// begins with the number of the collection, which open returned.
//
//	request     payload                                      answer
//	open        name                                         openReply
//	search      coll u32, limit u32, rect 4 x f64            items
//	count       coll u32, 0 u32, rect                        n u64
//	nearest     coll u32, k u32, x f64, y f64                items, nearest first
//	insert      coll u32, 0 u32, rect, id u64                empty
//	delete      coll u32, 0 u32, rect, id u64                found u8
//	update      coll u32, 0 u32, old rect, new rect, id u64  found u8
//	insertMany  coll u32, n u32, n items                     n u64
//	stats       empty                                        JSON
//	check       coll u32, 0 u32                              empty
//	searchMany  coll u32, n u32, n rects                     n counts u32, items
//	create      name                                         empty
//	drop        name                                         found u8
//	createKept  name                                         empty
//	within      coll u32, k u32, x f64, y f64, most f64      items, nearest first
//	(any)                                                    failure: code u16, n u64, text
//
// An item is rect 4 x f64 (min x, min y, max x, max y), id u64: 40 bytes.
//
// The items of a searchMany are those of the first search, then those of the
// second, and so on. The answer ends after the search that makes it larger than
// manyBytes; or before it, unless it is the first. Searches that are not
// answered have the count unanswered, and the client must repeat them. So a client
// that can take the answer to each search alone can take this answer.
const (
	kindOpen fastmsg.Kind = 1 + iota
	kindSearch
	kindCount
	kindNearest
	kindInsert
	kindDelete
	kindUpdate
	kindInsertMany
	kindStats
	kindCheck
	kindSearchMany
	kindCreate
	kindDrop
	kindWithin
	kindCreateRecords
	kindGet
	kindPut
	kindRemove
	kindScan
	kindRenew
	kindPart
	kindCreateFeatures
	kindFind
	kindNear
	kindCountFeatures
	kindStore
	kindErase
	kindPatch
	kindEraseWhere
	kindBackup
	kindCreateKept
	kindWatch
	kindDescribe
	kindPick
	kindSwap

	// lastRequest is in the hello, so that clients send no kind that this
	// server does not know. Kinds are only ever added, after the last one.
	lastRequest = kindSwap

	kindReply   fastmsg.Kind = 64
	kindFailure fastmsg.Kind = 65
)

// protocolVersion changes with wire.go, hello.go or the slab's layout.
const protocolVersion = 3

const (
	rectBytes = 32
	itemBytes = rectBytes + 8
	headBytes = 8 // coll u32, argument u32

	// maxBatch bounds insertMany, so that one message takes a worker about a
	// tenth of a millisecond, and fits into a quarter of a 64 KiB ring.
	maxBatch = 256

	// MaxNearest is the largest k of Nearest: 2.6 MB of objects. To get more
	// neighbours search a rectangle.
	MaxNearest = 1 << 16

	// maxMany bounds searchMany to the number of searches that a tree
	// interleaves. Together, small searches take a worker 50 us.
	maxMany = 256
	// manyBytes is the size at which the answer to a searchMany ends: 26,000
	// items. A longer answer would gain little, and cost memory with a
	// thousand clients.
	manyBytes  = 1 << 20
	unanswered = math.MaxUint32
)

func appendHead(b []byte, coll, arg uint32) []byte {
	b = binary.LittleEndian.AppendUint32(b, coll)
	return binary.LittleEndian.AppendUint32(b, arg)
}

func appendRect(b []byte, r rstar.Rect) []byte {
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(r.MinX))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(r.MinY))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(r.MaxX))
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(r.MaxY))
}

func appendItem(b []byte, it rstar.Item) []byte {
	return binary.LittleEndian.AppendUint64(appendRect(b, it.Rect), it.ID)
}

func f64(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }

func getRect(b []byte) rstar.Rect {
	_ = b[31]
	return rstar.Rect{MinX: f64(b), MinY: f64(b[8:]), MaxX: f64(b[16:]), MaxY: f64(b[24:])}
}

func getItem(b []byte) rstar.Item {
	return rstar.Item{Rect: getRect(b), ID: binary.LittleEndian.Uint64(b[rectBytes:])}
}

// appendItems decodes an answer that consists of items.
func appendItems(dst []rstar.Item, b []byte) ([]rstar.Item, error) {
	if len(b)%itemBytes != 0 {
		return dst, fmt.Errorf("%w: %d bytes of items, want a multiple of %d", ErrProtocol, len(b), itemBytes)
	}
	for ; len(b) > 0; b = b[itemBytes:] {
		dst = append(dst, getItem(b))
	}
	return dst, nil
}

// openReply is the answer to open: where the slab of a collection is.
//
//	0 coll u32 | 4 node bytes u32 | 8 slab key u64 | 16 slab address u64 | 24 slab bytes u64 | 32 boot id u64
type openReply struct {
	coll      uint32
	nodeBytes uint32
	base      rdma.Remote
	slabBytes uint64
	bootID    uint64
}

const openReplyBytes = 40

func (o openReply) append(b []byte) []byte {
	b = appendHead(b, o.coll, o.nodeBytes)
	b = binary.LittleEndian.AppendUint64(b, uint64(o.base.Key))
	b = binary.LittleEndian.AppendUint64(b, o.base.Addr)
	b = binary.LittleEndian.AppendUint64(b, o.slabBytes)
	return binary.LittleEndian.AppendUint64(b, o.bootID)
}

func getOpenReply(b []byte) (openReply, error) {
	if len(b) != openReplyBytes {
		return openReply{}, fmt.Errorf("%w: open answered %d bytes, want %d", ErrProtocol, len(b), openReplyBytes)
	}
	o := openReply{
		coll:      binary.LittleEndian.Uint32(b),
		nodeBytes: binary.LittleEndian.Uint32(b[4:]),
		base:      rdma.Remote{Key: rdma.Key(binary.LittleEndian.Uint64(b[8:])), Addr: binary.LittleEndian.Uint64(b[16:])},
		slabBytes: binary.LittleEndian.Uint64(b[24:]),
		bootID:    binary.LittleEndian.Uint64(b[32:]),
	}
	if o.nodeBytes < 64 || o.nodeBytes%64 != 0 || o.nodeBytes > 1<<16 {
		return o, fmt.Errorf("%w: node of %d bytes", ErrProtocol, o.nodeBytes)
	}
	return o, nil
}
