package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/store/query"
)

// The payloads of messages about features, little-endian, as in kinds.go and
// records.go.
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
//	watch           watch.go
//	backup          name                                             BackupInfo (JSON)
//	describe        coll u32, 0 u32                                  FeaturesInfo (JSON)
//	pick            coll u32, n u32, fields, n ids                   as of get, with those fields
//	swap            name, name (as ids)                              empty
//	get, renew      as of records: ids are keys, features values
//
//	query    limit u32, order u8, relation u8, shape u8 (noArea: none), flags u8,
//	         after (id), filter bytes u16, filter, fields if flags is WithFields,
//	         box 4 x f64 | polygon (feature) | circle x, y, radius f64
//	near     k may have NearFields: then fields come before the filter
//	fields   flags u8: 1 no properties, 2 no geometry; n u16, n names (as ids)
//	id       bytes u16, text
//	feature  id, found (records.go), distance f64, bytes (package feature)
//	place    if u32, revision u64, expiry i64, id, bytes u32, bytes; with PutParts
//	         in if, the bytes are the number, u32, of an upload (KindPart)
//	result   revision u64; 0: failure bytes u32, failure; else, if n of the store
//	         has StoreSays, replaced u8: 1 if there was a feature of this id
//
// An answer ends before it exceeds FeatureBytes. Then more is 1 if the answer is ordered
// by id, and the client continues after the last one; else the request fails with
// ErrTooLarge.
const (
	NoArea = 0xff

	// FeatureBytes bounds the features of an answer: 0.5 ms of a worker.
	FeatureBytes = 4 << 20
	// Fields are sent to servers that know KindPick.
	WithFields = 1
	NearFields = 1 << 31

	// MaxStore bounds the places of a message.
	MaxStore = 1024
	// StoreSays is sent to servers whose hello says that they know the flag.
	StoreSays = 1 << 31

	OpenFeaturesBytes = OpenRecordsBytes + 32
)

// OpenFeatures is the answer to open where the collection has features:
// openRecords, and then the tree.
//
//	88 key u64 | 96 address u64 | 104 bytes u64 | 112 node bytes u32 | 116 space u32
type OpenFeatures struct {
	OpenRecords
	Tree      rdma.Remote
	TreeBytes uint64
	NodeBytes uint32
	Space     feature.Space
}

// Append appends the encoded form.
func (o *OpenFeatures) Append(b []byte) []byte {
	b = o.OpenRecords.Append(b)
	b = binary.LittleEndian.AppendUint64(b, uint64(o.Tree.Key))
	b = binary.LittleEndian.AppendUint64(b, o.Tree.Addr)
	b = binary.LittleEndian.AppendUint64(b, o.TreeBytes)
	b = binary.LittleEndian.AppendUint32(b, o.NodeBytes)
	return binary.LittleEndian.AppendUint32(b, uint32(o.Space))
}

// GetOpenFeatures decodes OpenFeaturesBytes.
func GetOpenFeatures(b []byte) (o OpenFeatures, err error) {
	if o.OpenRecords, err = GetOpenRecords(b[:OpenRecordsBytes]); err != nil {
		return o, err
	}
	b = b[OpenRecordsBytes:]
	w := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	o.Tree = rdma.Remote{Key: rdma.Key(w(0)), Addr: w(8)}
	o.TreeBytes, o.NodeBytes = w(16), binary.LittleEndian.Uint32(b[24:])
	space := binary.LittleEndian.Uint32(b[28:])
	if o.Space = feature.Space(space); space > uint32(feature.Planar) || o.NodeBytes > MaxNode {
		return o, fmt.Errorf("%w: collection in space %d, nodes of %d bytes", model.ErrProtocol, space, o.NodeBytes)
	}
	return o, nil
}

// AppendFeaturesOptions appends the options of a collection of features.
func AppendFeaturesOptions(b []byte, o model.FeaturesOptions) ([]byte, error) {
	text, err := json.Marshal(o)
	if err != nil || len(text) > math.MaxUint16 {
		return b, fmt.Errorf("%w: options of %d bytes", model.ErrOption, len(text))
	}
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(text))), text...), nil
}

// GetFeaturesOptions decodes options, and returns what follows them.
func GetFeaturesOptions(b []byte) (o query.CollectionOptions, name string, err error) {
	text, rest, err := CutText(b)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		return o, "", fmt.Errorf("%w: options of a collection: %w", model.ErrProtocol, err)
	}
	return o, string(rest), nil
}

// AppendFeature adds a feature to an answer.
func AppendFeature(b []byte, f *query.Found) []byte {
	head := Found{Revision: f.Revision, Expiry: f.Expiry, ValueBytes: uint32(len(f.Value))}
	b = append(binary.LittleEndian.AppendUint16(b, uint16(len(f.ID))), f.ID...)
	b = appendF64(head.Append(b), f.Distance)
	return append(b, f.Value...)
}

// GetFeature cuts a feature off an answer, to whose bytes it refers.
func GetFeature(b []byte) (f query.Found, rest []byte, err error) {
	id, b, err := CutText(b)
	if err != nil {
		return f, nil, err
	}
	if len(b) < FoundBytes+8 {
		return f, nil, fmt.Errorf("%w: a feature of %d bytes", model.ErrProtocol, len(b))
	}
	head := GetFound(b)
	f = query.Found{ID: id, Revision: head.Revision, Expiry: head.Expiry, Distance: F64(b[FoundBytes:])}
	if b = b[FoundBytes+8:]; uint64(head.ValueBytes) > uint64(len(b)) {
		return f, nil, fmt.Errorf("%w: a feature of %d bytes, %d are left of the answer", model.ErrProtocol, head.ValueBytes, len(b))
	}
	f.Value = b[:head.ValueBytes]
	if f.View, err = feature.Parse(f.Value); err != nil {
		return f, nil, fmt.Errorf("%w: %q: %w", model.ErrProtocol, f.ID, err)
	}
	return f, b[head.ValueBytes:], nil
}

// Stored is one place of a store request.
type Stored struct {
	Cond     uint32
	Revision uint64
	Expiry   time.Duration
	Id       string
	Value    []byte
}

const placeBytes = 20 // before the id

// Append appends the encoded form.
func (p *Stored) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, p.Cond)
	b = binary.LittleEndian.AppendUint64(b, p.Revision)
	b = AppendText(binary.LittleEndian.AppendUint64(b, uint64(p.Expiry)), p.Id)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(p.Value)))
	return append(b, p.Value...)
}

// GetStored cuts one place off a request, to whose bytes its value refers.
func GetStored(b []byte) (p Stored, rest []byte, err error) {
	if len(b) < placeBytes {
		return p, nil, fmt.Errorf("%w: a place of %d bytes", model.ErrProtocol, len(b))
	}
	p.Cond, p.Revision = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint64(b[4:])
	p.Expiry = time.Duration(binary.LittleEndian.Uint64(b[12:]))
	id, b, err := CutText(b[placeBytes:])
	if err != nil {
		return p, nil, err
	}
	if p.Id = string(id); len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
		return p, nil, fmt.Errorf("%w: a place that ends with %d bytes", model.ErrProtocol, len(b))
	}
	n := 4 + int(binary.LittleEndian.Uint32(b))
	p.Value = b[4:n]
	return p, b[n:], nil
}
