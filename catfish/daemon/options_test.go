package daemon

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
)

// TestValidate: errors name the option, its value and the limit.
func TestValidate(t *testing.T) {
	if err := new(Options).Validate(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
	h := HTTP{Addr: anyPort}
	member := Group{Coordinators: []string{"c:1"}, Name: "g", Node: "n"}
	with := func(set func(*Group)) Group { g := member; set(&g); return g }
	stored := server.Options{DataDir: "d"}
	for says, o := range map[string]Options{
		`GRPC.Addr is "x", want host:port`:        {GRPC: GRPC{Addr: "x"}},
		`HTTP.Addr is ":http", want`:              {HTTP: HTTP{Addr: ":http"}},
		`Metrics.Addr is "h:65536", want`:         {Metrics: Metrics{Addr: "h:65536"}},
		"HTTP.TileBytes is -1, want 0":            {HTTP: HTTP{Addr: anyPort, TileBytes: -1}},
		"HTTP.TileBytes is 64, want 0 (default)":  {HTTP: HTTP{Addr: anyPort, TileBytes: 64}, Server: server.Options{MemoryLimit: 36 * 63}},
		`TLS.Cert is "c" and TLS.Key "", want`:    {HTTP: h, TLS: TLS{Cert: "c"}},
		`TLS.ClientCA is "r" without TLS.Cert`:    {HTTP: h, TLS: TLS{ClientCA: "r"}},
		`TLS.Cert is "c" without GRPC.Addr, HTTP`: {TLS: TLS{Cert: "c", Key: "k"}},
		"Server.Keys is set and Group.KeyFile is": {Server: server.Options{DataDir: "d", Keys: new(server.Keys)}, Group: member},
		`Group.KeyFile is "k" without Server.Key`: {Server: stored, Group: with(func(g *Group) { g.KeyFile = "k" })},
		`Group.MemberCA is "r" without TLS.Cert`:  {Server: stored, Group: with(func(g *Group) { g.MemberCA = "r" })},
		`Group.KeyFile is "k" and Group.MemberCA`: {Group: Group{KeyFile: "k"}},
		`Group.TLS.Cert is "c" and Group.TLS.Key`: {Server: stored, Group: with(func(g *Group) { g.TLS.Cert = "c" })},
		`Group.TLS.Cert is "c" without Group.TLS`: {Server: stored, Group: with(func(g *Group) { g.TLS = CoordinatorTLS{Cert: "c", Key: "k"} })},
		`Group.LaneTransport is "ib", want one`:   {Group: Group{LaneTransport: "ib"}},
		"Group.LaneRing is 5, want 0":             {Group: Group{LaneRing: 5}},
		"Group.LaneRing is 2147483648, want 0":    {Group: Group{LaneRing: 2 << 30}},
		"Group.LaneRing is -4096, want 0":         {Group: Group{LaneRing: -4096}},
	} {
		if err := o.Validate(); !errors.Is(err, model.ErrOption) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want ErrOption that says %s", err, says)
		}
	}
}

// TestOptionsThatNewRefuses: values that only their service can judge.
func TestOptionsThatNewRefuses(t *testing.T) {
	for says, set := range map[string]func(*Options){
		`HTTP.URL is "x"`:             func(o *Options) { o.HTTP.URL = "x" },
		`HTTP.Basemap "https://x/{z`:  func(o *Options) { o.HTTP.Basemap.URL = "https://x/{z}" },
		"memory limit of 1000 bytes":  func(o *Options) { o.Server.MemoryLimit = 1000 },
		"9999 workers":                func(o *Options) { o.Server.Workers = 9999 },
		`loading "bars", which is no`: func(o *Options) { o.Server.Loading = []string{"bars"} },
	} {
		o := all()
		set(&o)
		if _, err := New(o); !errors.Is(err, model.ErrOption) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want ErrOption that says %s", err, says)
		}
	}
	o := all()
	o.TLS = TLS{Cert: "none.pem", Key: "none.pem"}
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "none.pem") {
		t.Errorf("certificates that do not exist: %v", err)
	}
}

// TestTracesOfEnvironment: the variables say whether traces are sent, and how.
func TestTracesOfEnvironment(t *testing.T) {
	ctx := context.Background()
	env := map[string]string{}
	for _, bad := range [][2]string{{"OTEL_TRACES_EXPORTER", "jaeger"}, {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"}} {
		clear(env)
		env["OTEL_EXPORTER_OTLP_ENDPOINT"], env[bad[0]] = "http://127.0.0.1:1", bad[1]
		if _, err := newTracing(ctx, func(k string) string { return env[k] }); !errors.Is(err, model.ErrOption) {
			t.Errorf("%v: %v, want ErrOption", bad, err)
		}
	}
	for _, none := range [][2]string{{}, {"OTEL_TRACES_EXPORTER", "none"}, {"OTEL_SDK_DISABLED", "true"}} {
		clear(env)
		env[none[0]] = none[1]
		if none[0] != "" {
			env["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:1"
		}
		if tr, err := newTracing(ctx, func(k string) string { return env[k] }); err != nil || tr != nil {
			t.Errorf("%v: %v, %v, want none", none, tr, err)
		}
	}
}
