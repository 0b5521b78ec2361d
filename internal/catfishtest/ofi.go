//go:build ofi

package catfishtest

import (
	"os"

	"github.com/catfish-index/catfish/catfish/model"
)

// The tests run over libfabric's tcp, which every host has, or over the provider
// that the environment names, on a host with a card or Soft-RoCE.
func init() {
	OneSided = []string{model.TransportOFI}
	Offered = append(Offered, model.TransportOFI)
	Fabric.Provider = "tcp"
	if p := os.Getenv("CATFISH_OFI_PROVIDER"); p != "" {
		Fabric.Provider = p
	} else {
		Fabric.Addr = "127.0.0.1"
	}
}
