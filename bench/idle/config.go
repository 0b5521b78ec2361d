package idle

import (
	"fmt"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
)

// Config is one measurement for each transport.
type Config struct {
	Transports []string // shm, soft, tcp
	Clients    int
	Procs      int           // processes of the clients; 0: 2,000 clients in each
	Duration   time.Duration // of each interval in which processor time is measured
	Policy     string        // of the clients; tcp always has its own
	Commit     string        // for the rows
}

// perProcess is a default: with shm a client takes two descriptors, of which a
// process has 20,000 or more where servers run, and six mappings of 65,530.
const perProcess = 2000

// Validate checks all that can be checked before anything runs.
func (c *Config) Validate() error {
	switch {
	case len(c.Transports) == 0:
		return fmt.Errorf("%w: no transport", harness.ErrConfig)
	case c.Clients < 1:
		return fmt.Errorf("%w: %d clients, want 1 or more", harness.ErrConfig, c.Clients)
	case c.Procs < 0 || c.Procs > c.Clients:
		return fmt.Errorf("%w: %d processes for %d clients, want 0 (default) to %d", harness.ErrConfig, c.Procs, c.Clients, c.Clients)
	case c.Duration < 10*pace:
		return fmt.Errorf("%w: duration %v, want %v or more", harness.ErrConfig, c.Duration, 10*pace)
	}
	for _, t := range c.Transports {
		switch t {
		case catfish.TransportSHM, catfish.TransportSoft, catfish.TransportTCP:
		default:
			return fmt.Errorf("%w: transport %q, want shm, soft or tcp", harness.ErrConfig, t)
		}
	}
	if s, err := catfish.SchemeByName(c.Policy); err != nil {
		return fmt.Errorf("%w: %w", harness.ErrConfig, err)
	} else if s.Poll || s.InMemory {
		return fmt.Errorf("%w: policy %s polls, so it is never idle", harness.ErrConfig, s.Name)
	}
	return nil
}

func (c *Config) procs() int {
	if c.Procs > 0 {
		return c.Procs
	}
	return (c.Clients + perProcess - 1) / perProcess
}

// Cost is the average cost of one connection to a process.
type Cost struct {
	Memory   float64 `json:"memory_bytes"` // resident, with memory that server and client share
	Files    float64 `json:"descriptors"`
	Mappings float64 `json:"mappings"`
	// Processor time of the whole process, or of all client processes, as a
	// share of one core: at rest, and while one of the clients searches a
	// hundred times a second, so that heartbeats continue.
	Rest  float64 `json:"cpu_at_rest"`
	Beats float64 `json:"cpu_with_heartbeats"`
}

// Row is the result of one transport.
type Row struct {
	Transport string  `json:"transport"`
	Policy    string  `json:"policy"`
	Clients   int     `json:"clients"`
	Procs     int     `json:"client_procs"`
	Dialing   float64 `json:"dialing_seconds"` // until all were connected
	Server    Cost    `json:"server"`
	Client    Cost    `json:"client"`
	Commit    string  `json:"commit"`
}
