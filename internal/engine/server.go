package engine

import (
	"runtime"
	"slices"
	"time"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/names"
	"github.com/catfish-index/catfish/internal/web"
)

// seen is the state of the server at one moment.
type seen struct {
	at    time.Time
	cpu   float64 // seconds of the process
	cores float64
	load  catfish.LoadStats
	by    []catfish.TransportStats
	tcp   uint64
	asked []served

	groups *catfish.StoreMap
}

func (r *Room) look() seen {
	st := r.o.Server.Stats()
	now := seen{
		at: time.Now(), cpu: st.CPUSeconds, cores: st.Cores, load: r.o.Server.Load(), by: st.Transports, tcp: st.TCPRequests, groups: st.Map,
	}
	now.asked = append(now.asked, r.http.look())
	for _, b := range st.Budgets {
		if b.Name == web.StreamsBudget {
			now.asked[0].streams = int(b.Used)
		}
	}
	if r.o.GRPC != nil {
		now.asked = append(now.asked, r.o.GRPC.look())
	}
	return now
}

// requests are those of a transport since the server's start.
func requests(t *catfish.TransportStats) uint64 {
	n := t.Ended.Requests
	for _, w := range t.Workers {
		n += w.Requests
	}
	return n
}

// since returns the figures since an earlier look.
func (s *seen) since(from *seen) web.EngineServer {
	e := web.EngineServer{CPU: s.load.CPU, Busy: s.load.Busy, Waiting: s.load.Waiting}
	took := s.at.Sub(from.at).Seconds()
	rate := func(now, then uint64) float64 {
		if took <= 0 || now < then {
			return 0
		}
		return float64(now-then) / took
	}
	if took > 0 && s.cores > 0 {
		// Clock ticks may put a sliver of one interval into the next.
		e.OwnCPU = min(1, max(0, (s.cpu-from.cpu)/took/s.cores))
	}
	for i := range s.by {
		t, then := &s.by[i], uint64(0)
		if at := slices.IndexFunc(from.by, func(o catfish.TransportStats) bool { return o.Transport == t.Transport }); at >= 0 {
			then = requests(&from.by[at])
		}
		e.Channels = append(e.Channels, web.EngineChannels{
			Name: t.Transport, Connections: t.Connections, ReadChannels: t.ReadChannels, Messages: rate(requests(t), then),
		})
	}
	e.Channels = append(e.Channels, web.EngineChannels{Name: catfish.TransportTCP, Messages: rate(s.tcp, from.tcp)})
	for i := range s.asked {
		e.Services = append(e.Services, s.asked[i].since(&from.asked[i], took))
	}
	return e
}

// Describe implements web.Engine.
func (r *Room) Describe() web.EngineInfo {
	s := r.o.Server
	st := s.Stats()
	info := web.EngineInfo{
		Version: model.Version, Address: st.Addr, Workers: s.Workers(), Cores: st.Cores, Heartbeat: st.Heartbeat,
		Memory: s.MemoryLimit(), Load: web.EngineMayLoad{Allowed: r.o.Spawn != nil, MaxClients: MaxClients, MaxSeconds: MaxSeconds},
	}
	if info.Cores == 0 {
		info.Cores = float64(runtime.NumCPU())
	}
	for _, t := range st.Transports {
		info.Transports = append(info.Transports, web.EngineTransport{Name: t.Transport, Words: names.Transport(t.Transport), Detail: t.Detail})
	}
	info.Transports = append(info.Transports, web.EngineTransport{Name: catfish.TransportTCP, Words: names.Transport(catfish.TransportTCP)})
	if info.Load.Allowed {
		info.Load.Policies = policies()
		for name, f := range st.Features {
			if f.Space == feature.Geographic || f.Space == feature.Planar {
				info.Load.Collections = append(info.Load.Collections, name)
			}
		}
		if st.Collections[catfish.DefaultCollection].Len > 0 {
			info.Load.Collections = append(info.Load.Collections, catfish.DefaultCollection)
		}
		slices.Sort(info.Load.Collections)
	}
	return info
}

// policies are those that clients of a load may have: tcp has no reads to choose.
func policies() []string {
	return slices.DeleteFunc(catfish.Schemes(), func(s string) bool { return s == "tcp" })
}
