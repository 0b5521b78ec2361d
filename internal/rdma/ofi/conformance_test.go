//go:build ofi

package ofi

import (
	"os"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/rdmatest"
	"go.uber.org/goleak"
)

// provider is libfabric's for the tests: tcp runs everywhere; verbs is
// selected on a machine with a card or Soft-RoCE.
func provider() string {
	if p := os.Getenv("CATFISH_OFI_PROVIDER"); p != "" {
		return p
	}
	return TCP
}

func openForTest(provider string) (rdma.Device, error) {
	o := Options{Provider: provider}
	if provider == TCP {
		o.Addr = "127.0.0.1"
	}
	return Open(o)
}

func TestMain(m *testing.M) {
	memlockChild()
	rdmatest.Child(openForTest)
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	rdmatest.Run(t, rdmatest.Config{
		Open: func(t testing.TB) rdma.Device {
			d, err := openForTest(provider())
			if err != nil {
				t.Fatal(err)
			}
			return d
		},
		Addr:    func(testing.TB) string { return "127.0.0.1:0" },
		Variant: provider(),
	})
}
