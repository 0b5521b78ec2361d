package store

import (
	"time"

	"github.com/catfish-index/catfish/internal/store/disk"
)

// EncodedFeature is one of PutTogether, in bytes that feature.Append has made.
type EncodedFeature struct {
	ID      string
	Value   []byte
	Expires int64 // nanoseconds since the Unix epoch; 0: never
}

// Stored is the result of one put.
type Stored struct {
	Revision uint64
	Replaced bool // there was a feature of that id
	Err      error
}

// PutTogether is PutEncoded of some features, in their order. They have one commit, if
// no other writes come between them and they fit into one batch of the
// commit queue. done is called for each, as PutEncoded's is.
func (c *Collection) PutTogether(all []EncodedFeature, done func(i int, s Stored)) {
	ws := make([]*write, len(all))
	for i, f := range all {
		w := &write{coll: c, kind: disk.Put, id: f.ID, value: f.Value, expiry: time.Duration(f.Expires)}
		w.done = func(revision uint64, err error) { done(i, Stored{revision, w.replaces && err == nil, err}) }
		ws[i] = w
	}
	c.st.submit(ws...)
}
