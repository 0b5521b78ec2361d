package catfish_test

import (
	"fmt"

	"github.com/catfish-index/catfish/catfish"
)

// offloadBusy offloads while the server's processors are busy.
type offloadBusy struct{ catfish.Named }

func (offloadBusy) Plan(a *catfish.Ask) catfish.Plan {
	p := catfish.Plan{Heartbeat: true} // Ask again when there is news.
	if a.Load.Seq > 0 && a.Load.CPU > 0.9 {
		p.Share = 1
	}
	return p
}

// A policy of one's own: a name, and Plan.
func ExamplePolicy() {
	var p catfish.Policy = offloadBusy{"offload-busy"}
	for _, cpu := range []float64{0.5, 0.95} {
		plan := p.Plan(&catfish.Ask{Load: &catfish.Load{Seq: 1, CPU: cpu}})
		fmt.Println(p.Describe().Name, plan.Share)
	}
	// Output:
	// offload-busy 0
	// offload-busy 1
}
