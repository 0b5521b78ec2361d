package faulty_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/faulty"
	"github.com/catfish-index/catfish/internal/rdma/rdmatest"
	"github.com/catfish-index/catfish/internal/rdma/soft"
)

func TestMain(m *testing.M) {
	rdmatest.Child(func(string) (rdma.Device, error) { return soft.Open(soft.Options{}) })
	goleak.VerifyTestMain(m)
}

// harmless lists the faults that the contract permits at any time.
var harmless = faulty.Options{
	Seed:           1,
	LateCompletion: 0.05,
	MaxDelay:       300 * time.Microsecond,
	Reorder:        0.3,
	TornRead:       0.5,
	HeldWait:       0.05,
}

// TestConformance: neither the wrapper nor its harmless faults break the contract.
func TestConformance(t *testing.T) {
	for _, tc := range []struct {
		name string
		opt  faulty.Options
	}{{"faults=none", faulty.Options{}}, {"faults=harmless", harmless}} {
		t.Run(tc.name, func(t *testing.T) {
			rdmatest.Run(t, rdmatest.Config{
				Open: func(t testing.TB) rdma.Device {
					d, err := soft.Open(soft.Options{})
					if err != nil {
						t.Fatal(err)
					}
					return faulty.Wrap(d, tc.opt)
				},
				Addr: func(testing.TB) string { return anyPort },
				Kill: func(_ testing.TB, d rdma.Device) { d.(*faulty.Device).Drop() },
			})
		})
	}
}
