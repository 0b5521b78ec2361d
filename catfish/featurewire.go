package catfish

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/rdma"
	"github.com/catfish-index/catfish/store/query"
)

// The payloads of messages about features, little-endian, as in wire.go and
// recordwire.go.
//
//	request         payload                                          answer
//	open            name                                             openFeatures
//	createFeatures  options bytes u16, options (JSON), name          empty
//	find            coll u32, 0 u32, query                           more u8, features
//	near            coll u32, k u32, x, y, within f64, filter        more u8, features
//	countFeatures   coll u32, 0 u32, query                           n u64
//	store           coll u32, n u32, n places                        n results
//	erase           coll u32, if u32, revision u64, id               revision u64
//	patch           coll u32, if u32, revision u64, id, merge patch  revision u64
//	eraseWhere      coll u32, 0 u32, query                           n u64
//	watch           featurewatchwire.go
//	backup          name                                             BackupInfo (JSON)
//	describe        coll u32, 0 u32                                  FeaturesInfo (JSON)
//	pick            coll u32, n u32, fields, n ids                   as of get, with those fields
//	swap            name, name (as ids)                              empty
//	get, renew      as of records: ids are keys, features values
//
//	query    limit u32, order u8, relation u8, shape u8 (noArea: none), flags u8,
//	         after (id), filter bytes u16, filter, fields if flags is withFields,
//	         box 4 x f64 | polygon (feature) | circle x, y, radius f64
//	near     k may have nearFields: then fields come before the filter
//	fields   flags u8: 1 no properties, 2 no geometry; n u16, n names (as ids)
//	id       bytes u16, text
//	feature  id, found (recordwire.go), distance f64, bytes (package feature)
//	place    if u32, revision u64, expiry i64, id, bytes u32, bytes; with putParts
//	         in if, the bytes are the number, u32, of an upload (kindPart)
//	result   revision u64; 0: failure bytes u32, failure; else, if n of the store
//	         has storeSays, replaced u8: 1 if there was a feature of this id
//
// An answer ends before it exceeds featureBytes. Then more is 1 if the answer is ordered
// by id, and the client continues after the last one; else the request fails with
// ErrTooLarge.
const (
	noArea = 0xff

	// featureBytes bounds the features of an answer: 0.5 ms of a worker.
	featureBytes = 4 << 20
	// Fields are sent to servers that know kindPick.
	withFields = 1
	nearFields = 1 << 31

	// maxStore bounds the places of a message.
	maxStore = 1024
	// storeSays is sent to servers whose hello says that they know the flag.
	storeSays = 1 << 31

	openFeaturesBytes = openRecordsBytes + 32
)

// openFeatures is the answer to open where the collection has features:
// openRecords, and then the tree.
//
//	88 key u64 | 96 address u64 | 104 bytes u64 | 112 node bytes u32 | 116 space u32
type openFeatures struct {
	openRecords
	tree      rdma.Remote
	treeBytes uint64
	nodeBytes uint32
	space     feature.Space
}

func (o *openFeatures) append(b []byte) []byte {
	b = o.openRecords.append(b)
	b = binary.LittleEndian.AppendUint64(b, uint64(o.tree.Key))
	b = binary.LittleEndian.AppendUint64(b, o.tree.Addr)
	b = binary.LittleEndian.AppendUint64(b, o.treeBytes)
	b = binary.LittleEndian.AppendUint32(b, o.nodeBytes)
	return binary.LittleEndian.AppendUint32(b, uint32(o.space))
}

// getOpenFeatures decodes openFeaturesBytes.
func getOpenFeatures(b []byte) (o openFeatures, err error) {
	if o.openRecords, err = getOpenRecords(b[:openRecordsBytes]); err != nil {
		return o, err
	}
	b = b[openRecordsBytes:]
	w := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	o.tree = rdma.Remote{Key: rdma.Key(w(0)), Addr: w(8)}
	o.treeBytes, o.nodeBytes = w(16), binary.LittleEndian.Uint32(b[24:])
	space := binary.LittleEndian.Uint32(b[28:])
	if o.space = feature.Space(space); space > uint32(feature.Planar) || o.nodeBytes > maxNode {
		return o, fmt.Errorf("%w: collection in space %d, nodes of %d bytes", ErrProtocol, space, o.nodeBytes)
	}
	return o, nil
}

func appendFeaturesOptions(b []byte, o FeaturesOptions) ([]byte, error) {
	text, err := json.Marshal(o)
	if err != nil || len(text) > math.MaxUint16 {
		return b, fmt.Errorf("%w: options of %d bytes", ErrOption, len(text))
	}
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(text))), text...), nil
}

func getFeaturesOptions(b []byte) (o query.CollectionOptions, name string, err error) {
	text, rest, err := cutText(b)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		return o, "", fmt.Errorf("%w: options of a collection: %w", ErrProtocol, err)
	}
	return o, string(rest), nil
}

// appendFeature adds a feature to an answer.
func appendFeature(b []byte, f *query.Found) []byte {
	head := found{revision: f.Revision, expiry: f.Expiry, valueBytes: uint32(len(f.Value))}
	b = append(binary.LittleEndian.AppendUint16(b, uint16(len(f.ID))), f.ID...)
	b = appendF64(head.append(b), f.Distance)
	return append(b, f.Value...)
}

// getFeature cuts a feature off an answer, to whose bytes it refers.
func getFeature(b []byte) (f query.Found, rest []byte, err error) {
	id, b, err := cutText(b)
	if err != nil {
		return f, nil, err
	}
	if len(b) < foundBytes+8 {
		return f, nil, fmt.Errorf("%w: a feature of %d bytes", ErrProtocol, len(b))
	}
	head := getFound(b)
	f = query.Found{ID: id, Revision: head.revision, Expiry: head.expiry, Distance: f64(b[foundBytes:])}
	if b = b[foundBytes+8:]; uint64(head.valueBytes) > uint64(len(b)) {
		return f, nil, fmt.Errorf("%w: a feature of %d bytes, %d are left of the answer", ErrProtocol, head.valueBytes, len(b))
	}
	f.Value = b[:head.valueBytes]
	if f.View, err = feature.Parse(f.Value); err != nil {
		return f, nil, fmt.Errorf("%w: %q: %w", ErrProtocol, f.ID, err)
	}
	return f, b[head.valueBytes:], nil
}

// stored is one place of a store request.
type stored struct {
	cond     uint32
	revision uint64
	expiry   time.Duration
	id       string
	value    []byte
}

const placeBytes = 20 // before the id

func (p *stored) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, p.cond)
	b = binary.LittleEndian.AppendUint64(b, p.revision)
	b = appendText(binary.LittleEndian.AppendUint64(b, uint64(p.expiry)), p.id)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(p.value)))
	return append(b, p.value...)
}

// getStored cuts one place off a request, to whose bytes its value refers.
func getStored(b []byte) (p stored, rest []byte, err error) {
	if len(b) < placeBytes {
		return p, nil, fmt.Errorf("%w: a place of %d bytes", ErrProtocol, len(b))
	}
	p.cond, p.revision = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint64(b[4:])
	p.expiry = time.Duration(binary.LittleEndian.Uint64(b[12:]))
	id, b, err := cutText(b[placeBytes:])
	if err != nil {
		return p, nil, err
	}
	if p.id = string(id); len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
		return p, nil, fmt.Errorf("%w: a place that ends with %d bytes", ErrProtocol, len(b))
	}
	n := 4 + int(binary.LittleEndian.Uint32(b))
	p.value = b[4:n]
	return p, b[n:], nil
}
