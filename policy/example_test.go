package policy_test

import (
	"fmt"

	"github.com/catfish-index/catfish/policy"
)

// offloadBusy offloads while the server's processors are busy.
type offloadBusy struct{ policy.Named }

func (offloadBusy) Plan(a *policy.Ask) policy.Plan {
	p := policy.Plan{Heartbeat: true} // Ask again when there is news.
	if a.Load.Seq > 0 && a.Load.CPU > 0.9 {
		p.Share = 1
	}
	return p
}

// A policy of one's own: a name, and Plan.
func ExamplePolicy() {
	var p policy.Policy = offloadBusy{"offload-busy"}
	for _, cpu := range []float64{0.5, 0.95} {
		plan := p.Plan(&policy.Ask{Load: &policy.Load{Seq: 1, CPU: cpu}})
		fmt.Println(p.Describe().Name, plan.Share)
	}
	// Output:
	// offload-busy 0
	// offload-busy 1
}
