package sim

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/rstar"
)

// ErrCluster is wrapped by every error about a cluster's file. It wraps
// harness.ErrConfig: nothing was simulated.
var ErrCluster = fmt.Errorf("%w: cluster", harness.ErrConfig)

// Cluster is the contents of a file under clusters/. Every key is required,
// within min and max; others are refused. Times are of one core and keep it
// busy, except those called "latency".
type Cluster struct {
	Name      string    `toml:"-"`
	About     string    `toml:"about"`
	Device    string    `toml:"device"` // of the rows
	Tree      Tree      `toml:"tree"`
	Server    Server    `toml:"server"`
	Client    Client    `toml:"client"`
	Fabric    Fabric    `toml:"fabric"`
	TCP       TCP       `toml:"tcp"`
	Heartbeat Heartbeat `toml:"heartbeat"`
}

// Tree is the layout of the searched real tree.
type Tree struct {
	NodeBytes int `toml:"node_bytes" min:"704" max:"3904"` // rstar.Options: its fan-out
	// BlockBytes is what a read of one node fetches: NodeBytes of our
	// layout, other numbers for nodes of others with the same fan-out.
	BlockBytes int `toml:"block_bytes" min:"64" max:"65536"`
	Window     int `toml:"window" min:"1" max:"1024"` // in-flight reads of one search
	// Inserted is Spec.Inserted. Leaves of a loaded tree are full: almost
	// every insert splits one, until their number has doubled.
	Inserted float64 `toml:"inserted" min:"0" max:"1"`
	// Strategy is Spec.Strategy, one of rstar.Strategies.
	Strategy rstar.Strategy `toml:"strategy"`
}

// Server is the host with the tree.
type Server struct {
	Cores   int `toml:"cores" min:"1" max:"4096"`
	Workers int `toml:"workers" min:"0" max:"65536"` // 0: one per connection

	RequestNs float64 `toml:"request_ns" min:"0" max:"1e7"` // each request, all but what follows
	NodeNs    float64 `toml:"node_ns" min:"0" max:"1e6"`    // a node that a search visits
	ResultNs  float64 `toml:"result_ns" min:"0" max:"1e6"`  // an object found
	ByteNs    float64 `toml:"byte_ns" min:"0" max:"1e3"`    // a byte of the answer

	InsertNs  float64 `toml:"insert_ns" min:"0" max:"1e7"`  // holding the tree's writer
	PublishNs float64 `toml:"publish_ns" min:"0" max:"1e6"` // of it, nodes being inconsistent

	// Event-driven workers.
	WakeLatencyNs float64 `toml:"wake_latency_ns" min:"0" max:"1e7"` // latency from interrupt to run queue
	WakeNs        float64 `toml:"wake_ns" min:"0" max:"1e7"`         // CPU of one wake-up
	SpinNs        float64 `toml:"spin_ns" min:"0" max:"1e9"`         // idle time before sleeping

	// Polling threads. If they outnumber the cores, the threads of a core
	// share it in slices (polling.go).
	PollNs   float64 `toml:"poll_ns" min:"0" max:"1e7"`    // finding one request
	SliceNs  float64 `toml:"slice_ns" min:"1e3" max:"1e9"` // a thread's slice
	SwitchNs float64 `toml:"switch_ns" min:"0" max:"1e6"`  // to the next thread

	NIC NIC `toml:"nic"`
}

// Client is the hosts with the clients.
type Client struct {
	Machines int `toml:"machines" min:"1" max:"4096"`
	// Figure7 is Machines in the paper's figure 7, of which it does not print it; 0: the same.
	Figure7  int `toml:"figure7_machines" min:"0" max:"4096"`
	Cores    int `toml:"cores" min:"1" max:"4096"` // of each
	InFlight int `toml:"in_flight" min:"1" max:"4096"`

	// Between two requests of a caller and outside of the latency: time that
	// takes no core, by request and by object of the previous answer.
	ThinkNs       float64 `toml:"think_ns" min:"0" max:"1e9"`
	ThinkResultNs float64 `toml:"think_result_ns" min:"0" max:"1e7"`

	MessageNs     float64 `toml:"message_ns" min:"0" max:"1e7"`      // sending a request
	AnswerNs      float64 `toml:"answer_ns" min:"0" max:"1e7"`       // taking its answer
	ResultNs      float64 `toml:"result_ns" min:"0" max:"1e6"`       // an object in an answer
	WakeLatencyNs float64 `toml:"wake_latency_ns" min:"0" max:"1e7"` // latency from answer to caller

	SearchNs     float64 `toml:"search_ns" min:"0" max:"1e7"`      // an offloaded search
	PostNs       float64 `toml:"post_ns" min:"0" max:"1e6"`        // a read
	CompletionNs float64 `toml:"completion_ns" min:"0" max:"1e6"`  // its completion
	NodeNs       float64 `toml:"node_ns" min:"0" max:"1e6"`        // parsing a node
	LeafResultNs float64 `toml:"leaf_result_ns" min:"0" max:"1e6"` // an object in a leaf
	CachedNs     float64 `toml:"cached_ns" min:"0" max:"1e6"`      // a cached node on the way down
	LineNs       float64 `toml:"line_ns" min:"0" max:"1e6"`        // a line's read, everything included
	Spins        bool    `toml:"spins"`                            // keeps its core while reads are in flight
	Polls        bool    `toml:"polls"`                            // callers of polling servers are threads that poll, too (turns.go)

	NIC NIC `toml:"nic"`
}

// NIC is a network card and its link.
type NIC struct {
	InMops      float64 `toml:"in_mops" min:"0.001" max:"1e6"`  // million operations/s served
	OutMops     float64 `toml:"out_mops" min:"0.001" max:"1e6"` // million operations/s started
	Gbits       float64 `toml:"gbit_s" min:"0.001" max:"1e6"`   // each way
	PacketBytes float64 `toml:"packet_bytes" min:"64" max:"1e9"`
	HeaderBytes float64 `toml:"header_bytes" min:"0" max:"1e3"` // of each packet

	// Threads of one host that start operations contend: see posts.go.
	PostWaitNs float64 `toml:"post_wait_ns" min:"0" max:"1e5"` // an operation takes longer by this for each waiting one
	PostMoveNs float64 `toml:"post_move_ns" min:"0" max:"1e5"` // of a thread that waits for its operations, if another posted last
}

// Fabric is the path between two cards.
type Fabric struct {
	LatencyNs float64 `toml:"latency_ns" min:"0" max:"1e9"` // one way: buses, cards, switch
}

// TCP replaces the cards and their costs in scheme tcp.
type TCP struct {
	ServerNs  float64 `toml:"server_ns" min:"0" max:"1e7"` // CPU of a request and its answer
	ClientNs  float64 `toml:"client_ns" min:"0" max:"1e7"` // the same at the client
	ByteNs    float64 `toml:"byte_ns" min:"0" max:"1e3"`   // CPU of a byte at either side
	LatencyNs float64 `toml:"latency_ns" min:"0" max:"1e9"`
	NIC       NIC     `toml:"nic"`
}

// Heartbeat has the size, times and costs of heartbeats.
type Heartbeat struct {
	IntervalNs float64 `toml:"interval_ns" min:"1e3" max:"1e10"`
	// Spread is the share of the interval over which the clients' heartbeats
	// spread: 0 if one thread sends them all, 1 if each connection has a
	// thread with a timer of its own.
	Spread float64 `toml:"spread" min:"0" max:"1"`
	Bytes  float64 `toml:"bytes" min:"1" max:"4096"`
	CPUNs  float64 `toml:"cpu_ns" min:"0" max:"1e6"` // for each client
}

//go:embed clusters/*.toml
var files embed.FS

// Clusters are the names that Open knows.
func Clusters() []string {
	names := []string{}
	all, _ := fs.Glob(files, "clusters/*.toml") // The pattern is valid.
	for _, f := range all {
		names = append(names, strings.TrimSuffix(path.Base(f), ".toml"))
	}
	return names
}

// Text is the file of a cluster that is part of the program, with its
// comments. Errors wrap ErrCluster.
func Text(name string) ([]byte, error) {
	b, err := files.ReadFile("clusters/" + name + ".toml")
	if err != nil {
		return nil, fmt.Errorf("%w %q is unknown, want one of %s", ErrCluster, name, strings.Join(Clusters(), ", "))
	}
	return b, nil
}

// Open reads a cluster that is part of the program, by its name, or a
// file, which has a dot or a slash in it. Errors wrap ErrCluster.
func Open(name string) (*Cluster, error) {
	if !strings.ContainsAny(name, `./\`) {
		b, err := files.ReadFile("clusters/" + name + ".toml")
		if err != nil {
			return nil, fmt.Errorf("%w %q is unknown, want one of %s or a file such as ./%s.toml",
				ErrCluster, name, strings.Join(Clusters(), ", "), name)
		}
		return Parse(name, b)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCluster, err)
	}
	return Parse(strings.TrimSuffix(path.Base(name), ".toml"), b)
}

// Parse reads the text of a cluster's file.
func Parse(name string, text []byte) (*Cluster, error) {
	c := &Cluster{Name: name}
	md, err := toml.Decode(string(text), c)
	if err != nil {
		var pe toml.ParseError
		if errors.As(err, &pe) {
			return nil, fmt.Errorf("%w %s: line %d: %s", ErrCluster, name, pe.Position.Line, pe.Message)
		}
		return nil, fmt.Errorf("%w %s: %w", ErrCluster, name, err)
	}
	if extra := md.Undecoded(); len(extra) > 0 {
		return nil, fmt.Errorf("%w %s: unknown key %s", ErrCluster, name, extra[0])
	}
	for _, f := range c.fields() {
		if !md.IsDefined(strings.Split(f.key, ".")...) {
			return nil, fmt.Errorf("%w %s: key %s is missing", ErrCluster, name, f.key)
		}
	}
	return c, c.Validate()
}

// Validate checks every value against its limits.
func (c *Cluster) Validate() error {
	for _, f := range c.fields() {
		if !f.isNumber() {
			continue
		}
		// Written so that a NaN is out of range.
		if v := f.number(); !(v >= f.min && v <= f.max) {
			return fmt.Errorf("%w %s: %s is %v, want %v to %v", ErrCluster, c.Name, f.key, v, f.min, f.max)
		}
	}
	if c.Server.PublishNs > c.Server.InsertNs {
		return fmt.Errorf("%w %s: server.publish_ns is %v, want at most server.insert_ns, %v",
			ErrCluster, c.Name, c.Server.PublishNs, c.Server.InsertNs)
	}
	return nil
}

// Spec is a workload on the cluster's tree.
func (c *Cluster) Spec(dataset string, objects int, scale string, seed uint64) Spec {
	return Spec{Dataset: dataset, Objects: objects, Scale: scale,
		NodeBytes: c.Tree.NodeBytes, Strategy: c.Tree.Strategy, Inserted: c.Tree.Inserted, Seed: seed}
}

// Get returns the number of a key such as server.node_ns.
func (c *Cluster) Get(key string) (float64, error) {
	f, err := c.field(key)
	if err != nil {
		return 0, err
	}
	return f.number(), nil
}

// Set changes a number. Limits are checked by Validate.
func (c *Cluster) Set(key string, v float64) error {
	f, err := c.field(key)
	if err != nil {
		return err
	}
	if f.value.Kind() == reflect.Int {
		f.value.SetInt(int64(v))
	} else {
		f.value.SetFloat(v)
	}
	return nil
}

func (c *Cluster) field(key string) (field, error) {
	all := c.fields()
	i := slices.IndexFunc(all, func(f field) bool { return f.key == key })
	if i < 0 || !all[i].isNumber() {
		return field{}, fmt.Errorf("%w %s: no number is called %q", ErrCluster, c.Name, key)
	}
	return all[i], nil
}

// field is one value of a cluster.
type field struct {
	key      string
	value    reflect.Value
	min, max float64
}

// isNumber: numbers have limits.
func (f field) isNumber() bool { return f.min < f.max }

func (f field) number() float64 {
	if f.value.Kind() == reflect.Int {
		return float64(f.value.Int())
	}
	return f.value.Float()
}

// fields lists all values by their keys, in the order of the struct.
func (c *Cluster) fields() []field { return appendFields(nil, "", reflect.ValueOf(c).Elem()) }

func appendFields(all []field, prefix string, v reflect.Value) []field {
	for i := range v.NumField() {
		t := v.Type().Field(i)
		key := prefix + t.Tag.Get("toml")
		switch t.Type.Kind() {
		case reflect.Struct:
			all = appendFields(all, key+".", v.Field(i))
		default:
			if t.Tag.Get("toml") == "-" {
				continue
			}
			f := field{key: key, value: v.Field(i)}
			f.min, _ = strconv.ParseFloat(t.Tag.Get("min"), 64) // Others than
			f.max, _ = strconv.ParseFloat(t.Tag.Get("max"), 64) // numbers have none.
			all = append(all, f)
		}
	}
	return all
}
