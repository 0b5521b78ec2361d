package client

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/placement"
)

// Collections exist in all groups. One that was created, or dropped, in some of them, because
// another failed, is created or dropped in the others by calling again.

// everywhere does the same at all groups, in order. An error says which groups had
// done it.
func (k *cluster) everywhere(ctx context.Context, do func(c *Client) error) error {
	return k.byMap(ctx, func(v *view) error {
		var done []string
		for _, g := range v.every() {
			c, err := k.conn(ctx, v, g)
			if err == nil {
				if err = do(&Client{conn: c, collection: c.opts.Collection}); err != nil {
					err = ofGroup(v.names[g], err)
				}
			}
			if err != nil && len(done) > 0 {
				err = fmt.Errorf("%w; done in %s: call again for the others", err, strings.Join(done, ", "))
			}
			if err != nil {
				return err
			}
			done = append(done, v.names[g])
		}
		if !k.stands(v) {
			return errOldMap // There may be other groups.
		}
		return nil
	})
}

func (k *cluster) drop(ctx context.Context, name string) (was bool, err error) {
	err = k.everywhere(ctx, func(c *Client) error {
		is, err := c.DropCollection(ctx, name)
		was = was || is
		return err
	})
	return was, err
}

// kind of a collection, which is the same in all groups.
func (k *cluster) kind(ctx context.Context, name string) (string, error) {
	var kinds []string
	err := k.byMap(ctx, func(v *view) error {
		groups := v.having()
		if v.is.Places(name) { // Groups that were added later have no boxes of it.
			groups = v.meeting(name, placement.Largest(0, 0).Box)
		}
		kinds = make([]string, len(groups))
		return k.askAll(ctx, v, groups, true, func(ctx context.Context, n int, c *connection) (err error) {
			kinds[n], err = (&Client{conn: c, collection: name}).Kind(ctx)
			return err
		})
	})
	if err != nil {
		return "", err
	}
	if same := slices.Compact(kinds); len(same) > 1 {
		return "", fmt.Errorf("%w: %q is one of %s in one group, and one of %s in another", model.ErrKind, name, same[0], same[1])
	}
	return kinds[0], nil
}

// collections are those of all groups, with the sums of what they hold.
func (k *cluster) collections(ctx context.Context) ([]model.CollectionInfo, error) {
	all, err := fromAll(ctx, k, func(ctx context.Context, c *connection) ([]model.CollectionInfo, error) {
		return (&Client{conn: c}).Collections(ctx)
	})
	if err != nil {
		return nil, err
	}
	var l []model.CollectionInfo
	for _, of := range all {
		for _, c := range of {
			i, found := slices.BinarySearchFunc(l, c.Name, func(c model.CollectionInfo, name string) int { return strings.Compare(c.Name, name) })
			if !found {
				l = slices.Insert(l, i, c)
				continue
			}
			l[i].Objects, l[i].UsedBytes, l[i].SlabBytes = l[i].Objects+c.Objects, l[i].UsedBytes+c.UsedBytes, l[i].SlabBytes+c.SlabBytes
			l[i].Loading, l[i].Kept = l[i].Loading || c.Loading, l[i].Kept && c.Kept
		}
	}
	return l, nil
}

// Describe adds up what the groups say. Revisions are those of each group, and left out.
func (r *clusterFeatures) Describe(ctx context.Context) (model.FeaturesInfo, error) {
	all, err := fromAll(ctx, r.k, func(ctx context.Context, c *connection) (model.FeaturesInfo, error) { return r.at(c).Describe(ctx) })
	if err != nil {
		return model.FeaturesInfo{}, err
	}
	d := all[0]
	for i := range all[1:] {
		d.Join(&all[1+i])
	}
	d.Revision, d.CreatedRevision = 0, 0
	return d, nil
}

// info describes a client of several groups.
func (k *cluster) info() ConnInfo {
	v := k.view.Load()
	i := ConnInfo{Addr: k.c.addr, Policy: k.c.engines[ofBoxes].Policy(), Version: model.Version}
	i.Reason = fmt.Sprintf("%d groups have the store together: %s", len(v.names), strings.Join(v.names, ", "))
	if all := k.all(); len(all) > 0 {
		s := all[0].sessions.latest()
		i.Transport, i.Version = s.transport, s.hello.Version
	}
	return i
}

// counters adds up those of all connections. ServerCPU is that of the busiest server.
func (k *cluster) counters() (sum Counters) {
	to := reflect.ValueOf(&sum).Elem()
	for _, c := range k.all() {
		n := (&Client{conn: c}).Counters()
		from := reflect.ValueOf(n)
		for i := range from.NumField() {
			if f := to.Field(i); f.Kind() == reflect.Uint64 {
				f.SetUint(f.Uint() + from.Field(i).Uint())
			}
		}
		sum.Policy, sum.ServerCPU = n.Policy, max(sum.ServerCPU, n.ServerCPU)
	}
	return sum
}
