package wire

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/rstar"
)

// The payloads of messages, little-endian. Every request but open and stats
// begins with the number of the collection, which open returned, but for those that concern none.
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
//	lease       empty, or ReadInSync u8                      standing (standing.go)
//	map         cluster.go                                   JSON
//	slotLoad    empty                                        slotload.go
//	slotRequests  empty                                      slotload.go
//	boxSample   name                                         boxsample.go
//	(any)                                                    failure: code u16, n u64, text
//
// An item is rect 4 x f64 (min x, min y, max x, max y), id u64: 40 bytes.
//
// The items of a searchMany are those of the first search, then those of the
// second, and so on. The answer ends after the search that makes it larger than
// ManyBytes; or before it, unless it is the first. Searches that are not
// answered have the count unanswered, and the client must repeat them. So a client
// that can take the answer to each search alone can take this answer.
const (
	KindOpen fastmsg.Kind = 1 + iota
	KindSearch
	KindCount
	KindNearest
	KindInsert
	KindDelete
	KindUpdate
	KindInsertMany
	KindStats
	KindCheck
	KindSearchMany
	KindCreate
	KindDrop
	KindWithin
	KindCreateRecords
	KindGet
	KindPut
	KindRemove
	KindScan
	KindRenew
	KindPart
	KindCreateFeatures
	KindFind
	KindNear
	KindCountFeatures
	KindStore
	KindErase
	KindPatch
	KindEraseWhere
	KindBackup
	KindCreateKept
	KindWatch
	KindDescribe
	KindPick
	KindSwap
	KindLease
	KindNamed
	KindMap
	KindSlotLoad
	KindSlotRequests
	KindBoxSample
	KindAppend
	KindAwait

	// LastRequest is in the hello, so that clients send no kind that this
	// server does not know. Kinds are only ever added, after the last one.
	LastRequest = KindAwait

	KindReply   fastmsg.Kind = 64
	KindFailure fastmsg.Kind = 65
)

// ProtocolVersion changes with the messages, the hello (hello.go) or the slab's layout.
const ProtocolVersion = 3

const (
	RectBytes = 32
	ItemBytes = RectBytes + 8
	HeadBytes = 8 // coll u32, argument u32

	// MaxBatch bounds insertMany, so that one message takes a worker about a
	// tenth of a millisecond, and fits into a quarter of a 64 KiB ring.
	MaxBatch = 256

	// MaxNearest is the largest k of Nearest: 2.6 MB of objects. To get more
	// neighbours search a rectangle.
	MaxNearest = 1 << 16

	// MaxMany bounds searchMany to the number of searches that a tree
	// interleaves. Together, small searches take a worker 50 us.
	MaxMany = 256
	// ManyBytes is the size at which the answer to a searchMany ends: 26,000
	// items. A longer answer would gain little, and cost memory with a
	// thousand clients.
	ManyBytes  = 1 << 20
	Unanswered = math.MaxUint32
)

// AppendHead appends the collection and the argument of a request.
func AppendHead(b []byte, coll, arg uint32) []byte {
	b = binary.LittleEndian.AppendUint32(b, coll)
	return binary.LittleEndian.AppendUint32(b, arg)
}

// AppendRect appends a rectangle.
func AppendRect(b []byte, r rstar.Rect) []byte {
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(r.MinX))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(r.MinY))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(r.MaxX))
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(r.MaxY))
}

// AppendItem appends a rectangle with its number.
func AppendItem(b []byte, it rstar.Item) []byte {
	return binary.LittleEndian.AppendUint64(AppendRect(b, it.Rect), it.ID)
}

// F64 decodes a float64.
func F64(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }

// GetRect decodes a rectangle.
func GetRect(b []byte) rstar.Rect {
	_ = b[31]
	return rstar.Rect{MinX: F64(b), MinY: F64(b[8:]), MaxX: F64(b[16:]), MaxY: F64(b[24:])}
}

// GetItem decodes a rectangle with its number.
func GetItem(b []byte) rstar.Item {
	return rstar.Item{Rect: GetRect(b), ID: binary.LittleEndian.Uint64(b[RectBytes:])}
}

// AppendItems decodes an answer that consists of items.
func AppendItems(dst []rstar.Item, b []byte) ([]rstar.Item, error) {
	if len(b)%ItemBytes != 0 {
		return dst, fmt.Errorf("%w: %d bytes of items, want a multiple of %d", model.ErrProtocol, len(b), ItemBytes)
	}
	for ; len(b) > 0; b = b[ItemBytes:] {
		dst = append(dst, GetItem(b))
	}
	return dst, nil
}

// OpenReply is the answer to open: where the slab of a collection is.
//
//	0 coll u32 | 4 node bytes u32 | 8 slab key u64 | 16 slab address u64 | 24 slab bytes u64 | 32 boot id u64
type OpenReply struct {
	Coll      uint32
	NodeBytes uint32
	Base      rdma.Remote
	SlabBytes uint64
	BootID    uint64
}

const openReplyBytes = 40

// Append appends the encoded form.
func (o OpenReply) Append(b []byte) []byte {
	b = AppendHead(b, o.Coll, o.NodeBytes)
	b = binary.LittleEndian.AppendUint64(b, uint64(o.Base.Key))
	b = binary.LittleEndian.AppendUint64(b, o.Base.Addr)
	b = binary.LittleEndian.AppendUint64(b, o.SlabBytes)
	return binary.LittleEndian.AppendUint64(b, o.BootID)
}

// GetOpenReply decodes the answer to an open.
func GetOpenReply(b []byte) (OpenReply, error) {
	if len(b) != openReplyBytes {
		return OpenReply{}, fmt.Errorf("%w: open answered %d bytes, want %d", model.ErrProtocol, len(b), openReplyBytes)
	}
	o := OpenReply{
		Coll:      binary.LittleEndian.Uint32(b),
		NodeBytes: binary.LittleEndian.Uint32(b[4:]),
		Base:      rdma.Remote{Key: rdma.Key(binary.LittleEndian.Uint64(b[8:])), Addr: binary.LittleEndian.Uint64(b[16:])},
		SlabBytes: binary.LittleEndian.Uint64(b[24:]),
		BootID:    binary.LittleEndian.Uint64(b[32:]),
	}
	if o.NodeBytes < 64 || o.NodeBytes%64 != 0 || o.NodeBytes > 1<<16 {
		return o, fmt.Errorf("%w: node of %d bytes", model.ErrProtocol, o.NodeBytes)
	}
	return o, nil
}
