package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/access"
)

// The engine room
//
//	GET    /engine          the server, and the limits of a load
//	GET    /engine/events   measurements, each second (text/event-stream)
//	POST   /engine/load     starts clients that search
//	DELETE /engine/load     ends them
//
// It concerns the whole server, so with keys it needs role admin for all collections.
// docs/page.md has the shapes.

// Engine is the engine room's view of a server and its load. *engine.Room is one. The
// methods are safe for concurrent use.
type Engine interface {
	// Describe describes the server.
	Describe() EngineInfo
	// Follow sends a snapshot each second until stop is called. A receiver that is late
	// gets the latest snapshot only.
	Follow() (snapshots <-chan EngineSnapshot, stop func())
	// Start starts a load. Its clients use that key, if the server requires one. The
	// error wraps ErrEngineOff, ErrEngineBusy or ErrEngineLoad, or says that the
	// clients could not begin.
	Start(l EngineLoad, key string) (EngineLoad, error)
	// Stop ends the load, if there is one, and waits until it has ended.
	Stop()
	// Observe counts a request over HTTP that has ended; failed: by the server's fault.
	Observe(took time.Duration, failed bool)
	// Close ends the load and the snapshots, and waits. Shutdown calls it.
	Close()
}

// Errors of Engine.Start.
var (
	// ErrEngineOff: this server starts no load.
	ErrEngineOff = errors.New("this server starts no load (serve --engine-load)")
	// ErrEngineBusy: a load is running.
	ErrEngineBusy = errors.New("a load is under way")
	// ErrEngineLoad: a value is out of its limits, or there is no such collection.
	ErrEngineLoad = errors.New("bad load")
)

// EngineInfo describes the server.
type EngineInfo struct {
	Version    string            `json:"version"`
	Address    string            `json:"address"`    // the address that clients dial
	Transports []EngineTransport `json:"transports"` // best first
	Workers    int               `json:"workers"`    // per transport; 0: one for each connection
	Cores      float64           `json:"cores"`
	Heartbeat  float64           `json:"heartbeat_seconds"`
	Memory     int64             `json:"memory_limit_bytes"`
	Load       EngineMayLoad     `json:"load"`
}

// EngineTransport is a way to reach the server.
type EngineTransport struct {
	Name   string `json:"name"`
	Words  string `json:"words"`            // a description, and whether it is RDMA hardware
	Detail string `json:"detail,omitempty"` // device, port, addresses
}

// EngineMayLoad says whether a load may be started, and its limits.
type EngineMayLoad struct {
	Allowed     bool     `json:"allowed"`
	MaxClients  int      `json:"max_clients"`
	MaxSeconds  int      `json:"max_seconds"`
	Policies    []string `json:"policies,omitempty"`
	Collections []string `json:"collections,omitempty"` // those that may be searched
}

// EngineLoad is a load: clients that search, in their own processes.
type EngineLoad struct {
	Clients    int    `json:"clients"`
	Seconds    int    `json:"seconds"`
	Collection string `json:"collection"`
	Policy     string `json:"policy"`
}

// EngineSnapshot has the measurements since the previous snapshot.
type EngineSnapshot struct {
	At      time.Time      `json:"at"`
	Seconds float64        `json:"seconds"` // since the previous snapshot
	Server  EngineServer   `json:"server"`
	Run     *EngineRun     `json:"load"` // null: no load is running
	Clients []EngineClient `json:"clients"`
	// Map says which groups have the store together; missing: this server has a store of its own.
	Map *model.StoreMap `json:"map,omitempty"`
	// Ended says how the last load ended, if it ended since the previous snapshot.
	Ended string `json:"ended,omitempty"`
}

// EngineServer is the server's view: messages and connections. Reads are one-sided, so
// the server sees none of them.
type EngineServer struct {
	CPU      float64          `json:"cpu"`     // utilisation of its cores by all processes, as heartbeats carry it; 0 to 1
	OwnCPU   float64          `json:"own_cpu"` // by this process
	Busy     float64          `json:"busy"`    // share of the workers' time, as heartbeats carry it
	Waiting  uint32           `json:"waiting"` // requests that wait
	Channels []EngineChannels `json:"transports"`
	Services []EngineService  `json:"services"` // HTTP and gRPC, if served
}

// EngineService counts requests over HTTP or gRPC, of all clients. Times are those of
// the requests that ended since the previous snapshot, 0 if there were none.
type EngineService struct {
	Name     string  `json:"name"`                // http or grpc
	Requests float64 `json:"requests_per_second"` // without streams
	Failed   float64 `json:"failed_per_second"`   // of these, by the server's fault
	P50      float64 `json:"p50_us"`
	P99      float64 `json:"p99_us"`
	Streams  int     `json:"streams"` // open streams
}

// EngineChannels counts the channels of one transport, of all clients.
type EngineChannels struct {
	Name         string  `json:"name"`
	Connections  int     `json:"connections"`
	ReadChannels int     `json:"read_channels"` // those that clients may read by
	Messages     float64 `json:"messages_per_second"`
}

// EngineRun is a running load.
type EngineRun struct {
	EngineLoad
	State   string  `json:"state"` // starting or running
	Elapsed float64 `json:"elapsed_seconds"`
	Pause   float64 `json:"pause_ms"` // of a caller between two searches; 0: full load
}

// EngineClient is a client of the load, by its own counters.
type EngineClient struct {
	Name      string  `json:"name"`
	Transport string  `json:"transport"`
	Policy    string  `json:"policy"`
	Messages  float64 `json:"messages_per_second"`  // searches by messages
	Offloaded float64 `json:"offloaded_per_second"` // searches by its own reads
	FellBack  float64 `json:"fell_back_per_second"` // begun by reads, ended by a message
	Share     float64 `json:"offloaded_share"`      // 0 to 1
	Reads     float64 `json:"reads_per_second"`
	Restarts  float64 `json:"restarts_per_second"`   // searches that began again
	Torn      float64 `json:"torn_reads_per_second"` // nodes read again
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	// Histogram[i] counts the searches that took up to 2^i us, but more than 2^(i-1);
	// the last element counts all longer ones.
	Histogram []int64 `json:"histogram"`
}

// engineResources and engineStream are served with Options.Engine.
var (
	engineResources = []resource{
		{"/engine", false, map[string]func(*request) error{http.MethodGet: (*request).engine}},
		{"/engine/load", false, map[string]func(*request) error{
			http.MethodPost: (*request).startLoad, http.MethodDelete: (*request).stopLoad,
		}},
	}
	engineStream = resource{"/engine/events", false, map[string]func(*request) error{http.MethodGet: (*request).engineEvents}}
)

// mayEngine returns an error unless the key, if keys are used, is an administrator's.
func (q *request) mayEngine() error {
	if err := q.may("*", access.Admin); err != nil {
		return err
	}
	return q.params.end("no parameters")
}

func (q *request) engine() error {
	if err := q.mayEngine(); err != nil {
		return err
	}
	return q.sendEngine(http.StatusOK, q.o.Engine.Describe())
}

func (q *request) sendEngine(status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := q.hold(&q.holds.answer, int64(len(b))); err != nil {
		return err
	}
	q.w.Header().Set("Cache-Control", "no-store")
	return q.send(status, typeJSON, append(b, '\n'))
}

// startLoad starts a load with the values in the body or their defaults.
func (q *request) startLoad() error {
	if err := q.mayEngine(); err != nil {
		return err
	}
	// No form can send JSON, so no page of another site can, unless CORS lets it.
	if t, _, err := mime.ParseMediaType(q.r.Header.Get("Content-Type")); err != nil || t != typeJSON {
		return &statusError{http.StatusUnsupportedMediaType, fmt.Sprintf("header Content-Type is %.100q, want %s", q.r.Header.Get("Content-Type"), typeJSON)}
	}
	text, err := q.body()
	if err != nil {
		return err
	}
	var l EngineLoad
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil || d.More() {
		return &statusError{http.StatusBadRequest, fmt.Sprintf(`the body is no load such as {"clients": 8, "seconds": 20}: %v`, err)}
	}
	l, err = q.o.Engine.Start(l, q.key)
	for of, status := range map[error]int{
		ErrEngineOff: http.StatusForbidden, ErrEngineBusy: http.StatusConflict, ErrEngineLoad: http.StatusBadRequest,
	} {
		if errors.Is(err, of) {
			return &statusError{status, err.Error()}
		}
	}
	if err != nil {
		return err
	}
	return q.sendEngine(http.StatusAccepted, l)
}

func (q *request) stopLoad() error {
	if err := q.mayEngine(); err != nil {
		return err
	}
	q.o.Engine.Stop()
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}

// engineEvents sends each snapshot as an event.
func (q *request) engineEvents() error {
	if err := q.mayEngine(); err != nil {
		return err
	}
	e, err := q.newEventWriter()
	if err != nil {
		return err
	}
	defer e.close()
	snapshots, stop := q.o.Engine.Follow()
	defer stop()
	e.begin()
	if q.r.Method == http.MethodHead {
		return nil
	}
	err = e.flush() // The client sees that it is connected.
	for err == nil {
		select {
		case <-q.ctx.Done():
			err = context.Cause(q.ctx)
		case s := <-snapshots:
			if err = e.snapshot(s); err == nil {
				err = e.flush()
			}
		}
	}
	e.leave()
	return nil
}

func (e *eventWriter) snapshot(s EngineSnapshot) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return e.event("snapshot", "", func(to []byte) []byte { return append(to, b...) })
}
