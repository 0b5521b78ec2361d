package store

import (
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/fault"
)

// Definition is what a collection in the log was created with, as altered since: enough to
// create it in another group.
type Definition struct {
	Name     string            `json:"name"`
	Kind     Kind              `json:"kind"`
	Features CollectionOptions `json:"features,omitzero"`
	Records  RecordsOptions    `json:"records,omitzero"`
}

// Defined returns the definitions of all collections in the log, by name.
func (st *Store) Defined() []Definition {
	var all []Definition
	for _, e := range st.All() {
		if !e.durable() {
			continue
		}
		d := Definition{Name: e.Name, Kind: e.Kind}
		switch {
		case e.Features != nil:
			d.Features = e.Features.Options()
		case e.Kept != nil:
			d.Records = e.Kept.o
		}
		all = append(all, d)
	}
	return all
}

// Define creates the collections of another group that this store does not have. One that has
// other options stays as it is: a client alters it in one group after the other. Other errors
// are those of Create.
func (st *Store) Define(all []Definition) error {
	for _, d := range all {
		if d.Kind > KindRecords {
			return fmt.Errorf("%w: %q is of kind %d", fault.ErrKind, d.Name, d.Kind)
		}
		spec := Spec{Kind: d.Kind, Keep: true, Features: d.Features, Records: d.Records, OfClients: true}
		if _, err := st.Create(d.Name, spec); err != nil && !errors.Is(err, ErrCollectionExists) {
			return fmt.Errorf("creating %q, which another group has: %w", d.Name, err)
		}
	}
	return nil
}
