//go:build linux

package rounds

import "context"

// finish lets the clients work for a while, ends them, and reads everything: at the primary
// as it is, and at another one.
func (r *round) finish(ctx context.Context) error {
	if err := r.goOn(ctx); err != nil {
		return err
	}
	for _, o := range []Order{{Stop: true}, {Last: true}} {
		for _, c := range r.crews {
			if _, err := c.order(ctx, o); err != nil {
				return err
			}
		}
	}
	r.quiet = clock()
	if _, err := r.crews[0].order(ctx, Order{Servers: r.servers()}); err != nil {
		return err
	}
	all, err := r.c.whole(ctx, r.damaged(), r.note) // A member that was late may be out of the set.
	if err != nil {
		return err
	}
	for _, g := range all {
		next := r.victim
		if next.group != g.Name || next.removed.Load() || next.Node == g.Primary {
			next = r.secondaries(g, next)[0]
		}
		if err := r.c.switchTo(ctx, next); err != nil {
			return err
		}
	}
	said, err := r.crews[0].order(ctx, Order{Servers: r.servers()})
	r.result.Offloaded = said.Offloaded
	return err
}

// servers are those whose contents clients compare.
func (r *round) servers() []Server {
	all := []Server{}
	if r.plan.Moving != nil {
		return all // They have no HTTP.
	}
	for _, m := range r.c.present() {
		all = append(all, m.Server)
	}
	return all
}
