package query

import (
	"time"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/record"
)

// Found is a feature that a search has found, in bytes that are valid for as long as
// the search says.
type Found struct {
	ID       []byte
	View     feature.View
	Value    []byte // of the record: what View looks into
	Revision uint64
	Expiry   time.Duration // since the Unix epoch; 0: never
	Now      time.Duration // when it was found
	Distance float64       // of a nearest feature
}

// Expires is Expiry as a time, zero for never.
func (f *Found) Expires() time.Time {
	if f.Expiry == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(f.Expiry))
}

// SetRecord makes f the feature of a record. It is not ok if it has expired.
func (f *Found) SetRecord(v *record.View, now time.Duration) (ok bool, err error) {
	f.ID, f.Value, f.Revision, f.Expiry = v.Key, v.Value, v.Revision, time.Duration(v.Expiry)
	f.Now, f.Distance = now, 0
	if f.Expiry != 0 && f.Expiry <= f.Now {
		return false, nil
	}
	f.View, err = feature.Open(v.Value)
	return err == nil, err
}

// Clone is f in memory of its own.
func (f *Found) Clone() Found {
	c := *f
	own := make([]byte, 0, len(f.Value)+len(f.ID))
	own = append(append(own, f.Value...), f.ID...)
	c.Value, c.ID = own[:len(f.Value):len(f.Value)], own[len(f.Value):]
	c.View, _ = feature.Open(c.Value) // as before
	return c
}
