package cli

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/certs"
)

// guardFlags are the flags of 'serve' that say which clients are served.
type guardFlags struct {
	keys  string
	files certs.Files
}

func (f *guardFlags) register(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.keys, "keys", "", "serve only who has a key of this file, over RDMA, gRPC and HTTP (catfish keys); read again when it changes")
	fs.StringVar(&f.files.Cert, "tls-cert", "", "certificate of the gRPC and HTTP services, PEM, with those between it and the root; read again when it changes")
	fs.StringVar(&f.files.Key, "tls-key", "", "its key, PEM")
	fs.StringVar(&f.files.ClientCA, "tls-client-ca", "", "roots, PEM: gRPC and HTTP clients need a certificate of one of them")
}

// check refuses flags that would do nothing, or less than the user expects.
func (f *guardFlags) check(grpcAddr, httpAddr string) error {
	t := f.files
	switch {
	case (t.Cert == "") != (t.Key == ""):
		return BadUsage("--tls-cert and --tls-key go together")
	case t.ClientCA != "" && t.Cert == "":
		return BadUsage("--tls-client-ca goes with --tls-cert and --tls-key")
	case t.Cert != "" && grpcAddr == "" && httpAddr == "":
		return BadUsage("--tls-cert goes with --grpc or --http: RDMA and plain sockets have no TLS")
	}
	return nil
}

// guards are the keys and certificates of the flags.
type guards struct {
	keys *catfish.Keys // nil: none are needed
	tls  *certs.Server // nil: gRPC and HTTP without TLS
}

func (f *guardFlags) open(log *slog.Logger) (g guards, err error) {
	if f.keys != "" {
		if g.keys, err = catfish.OpenKeys(f.keys, log); err != nil {
			return g, fmt.Errorf("--keys: %w", err)
		}
	}
	if f.files.Cert != "" {
		if g.tls, err = certs.NewServer(f.files, log); err != nil {
			return g, err
		}
	}
	return g, nil
}

// config returns the configuration of TLS, nil if there is none.
func (g guards) config() *tls.Config {
	if g.tls == nil {
		return nil
	}
	return g.tls.Config()
}

// reload reads all files again. nothing is true if there are none.
func (g guards) reload() (nothing bool, err error) {
	if g.keys != nil {
		err = g.keys.Reload()
	}
	if g.tls != nil {
		err = errors.Join(err, g.tls.Reload())
	}
	return g.keys == nil && g.tls == nil, err
}
