package sim

import (
	"time"

	"github.com/catfish-index/catfish/internal/policy"
)

// Answer times: the paper's future work, a server that predicts "response latency" (section VI).
// docs/decisions/overload-prediction.md has what it is worth. A heartbeat announces how long
// a message that comes now will take at the server, the requests that wait and its own:
//
//	answer = mean time of a request * (1 + waiting / cores)
//
// Until the next heartbeat a client offloads all its searches if its own offloaded ones take
// no longer, or none.

// quicker is that client's policy.
type quicker struct {
	client *client
	share  float64
	own    float64 // mean ns of offloaded searches, 0: none has ended
}

const (
	quickerTries  = 0.5 // utilisation from which offloading is tried at first
	quickerMemory = 8   // offloaded searches
)

// byAnswers reports whether clients compare answer times: those of schemes that adapt.
func (c *Config) byAnswers(sch policy.Scheme) bool {
	return c.Answers && (sch.Backoff || sch.Name == policy.Default)
}

func (q *quicker) Plan(a *policy.Ask) policy.Plan {
	if a.Fresh {
		q.share = 0
		if q.own > 0 && q.client.answer >= q.own || q.own == 0 && a.Load.CPU >= quickerTries {
			q.share = 1
		}
	}
	return policy.Plan{Share: q.share, Searches: 1, Heartbeat: true}
}

// Observe keeps the mean.
func (q *quicker) Observe(_ time.Time, o policy.Outcome) {
	switch took := float64(o.Took); {
	case o.Path != policy.Offload:
	case q.own == 0:
		q.own = took
	default:
		q.own += (took - q.own) / quickerMemory
	}
}

func (q *quicker) Describe() policy.Description { return policy.Description{Name: "answers"} }
