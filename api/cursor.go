package api

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/proto"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
)

// A page token names the last feature of a page, and the query it belongs to:
//
//	0    1           9            17
//	| 1  | query     | distance   | id ...
//
// 1 is the version. query is a hash of all that determines the order and its
// features. So a token of another query is refused, instead of giving an answer
// with gaps. The distance is 0 in an order by id. Numbers are little-endian,
// and the whole is base64url without padding.
//
// A forged token only begins a page elsewhere.

const (
	cursorVersion = 1
	cursorHeader  = 17
)

var errCursor = errors.New("not a page token of this server")

// cursor is the feature after which a page begins.
type cursor struct {
	query    uint64
	distance float64
	id       string
}

func (c *cursor) token() string {
	b := append(make([]byte, 0, cursorHeader+len(c.id)), cursorVersion)
	b = binary.LittleEndian.AppendUint64(b, c.query)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(c.distance))
	return base64.RawURLEncoding.EncodeToString(append(b, c.id...))
}

// cursorOf is the cursor of a request, with an empty id for the first page.
func cursorOf(req *catfishv1.FeatureServiceSearchRequest) (cursor, error) {
	c := cursor{query: queryHash(req)}
	token := req.GetPageToken()
	if token == "" {
		return c, nil
	}
	bad := func(err error) (cursor, error) {
		return c, &fieldError{"page_token", ReasonBadCursor, err}
	}
	if req.GetOrder() == catfishv1.Order_ORDER_UNSPECIFIED {
		return bad(errors.New("an answer without order has no pages"))
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) <= cursorHeader || b[0] != cursorVersion {
		return bad(errCursor)
	}
	if binary.LittleEndian.Uint64(b[1:]) != c.query {
		return bad(errors.New("belongs to another query, order or collection"))
	}
	c.distance = math.Float64frombits(binary.LittleEndian.Uint64(b[9:]))
	if !(c.distance >= 0) || math.IsInf(c.distance, 1) {
		return bad(fmt.Errorf("%w: a distance of %v", errCursor, c.distance))
	}
	c.id = string(b[cursorHeader:])
	return c, nil
}

// queryHash is a hash of what determines the features of an answer and their order.
func queryHash(req *catfishv1.FeatureServiceSearchRequest) uint64 {
	if req.GetOrder() == catfishv1.Order_ORDER_UNSPECIFIED {
		return 0
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(&catfishv1.FeatureServiceSearchRequest{
		Collection: req.GetCollection(), Query: req.GetQuery(), Order: req.GetOrder(), From: req.GetFrom(),
	})
	if err != nil {
		return 0 // It was unmarshalled a moment ago: strings are UTF-8.
	}
	return xxhash.Sum64(b)
}
