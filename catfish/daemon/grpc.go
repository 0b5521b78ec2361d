package daemon

import (
	"context"
	"slices"

	"google.golang.org/grpc"

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/wire"
)

// openGRPC makes the gRPC service. It serves features once they are loaded.
func (d *Daemon) openGRPC() error {
	o := &d.o.GRPC
	if o.Addr == "" {
		return nil
	}
	s, err := d.listen("gRPC", o.Addr, &d.addrs.GRPC)
	if err != nil {
		return err
	}
	opts := slices.Concat(d.seen.traces.grpc(), logCalls(d.log), o.Options, d.seen.grpc())
	if d.srv.Recording() != nil {
		opts = append(opts, grpc.StatsHandler(recordGRPC{d.srv}))
	}
	g := api.NewServer(api.ServerBackend(d.srv), api.WithKeys(d.o.Server.Keys), api.WithTLS(d.tls()), api.WithGRPC(opts...),
		api.WithMaxAnswerBytes(d.o.callBytes()), api.WithMaxLoadBytes(d.srv.MemoryLimit()/limits.UploadsPart),
		api.WithMaxResults(d.srv.MaxResults()), api.WithFeaturesLater(), api.WithGroup(d.door(wire.StreamGRPC)), api.WithGroups(d.whole))
	d.srv.ShowBudgets(g.Budgets)
	d.seen.register(g)
	d.loaded = append(d.loaded, g.ServeFeatures)
	d.openDoor("gRPC", wire.StreamGRPC, g.ServeMembers)
	s.serve = g.Serve
	s.stop = func(ctx context.Context) {
		stop := context.AfterFunc(ctx, g.Stop)
		defer stop()
		g.GracefulStop()
	}
	return nil
}
