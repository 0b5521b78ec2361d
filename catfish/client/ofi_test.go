//go:build ofi

package client

import (
	"os"

	"github.com/catfish-index/catfish/catfish/model"
)

// The tests run over libfabric's tcp, which every host has, or over the provider
// that the environment names, on a host with a card or Soft-RoCE.
func init() {
	oneSided = []string{model.TransportOFI}
	offered = append(offered, model.TransportOFI)
	testFabric.Provider = "tcp"
	if p := os.Getenv("CATFISH_OFI_PROVIDER"); p != "" {
		testFabric.Provider = p
	} else {
		testFabric.Addr = "127.0.0.1"
	}
}
