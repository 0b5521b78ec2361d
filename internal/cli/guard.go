package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/internal/certs"
)

// registerGuards adds the flags of 'serve' that say which clients are served.
func (f *serveFlags) registerGuards(c *cobra.Command) {
	fs, t := c.Flags(), &f.opts.TLS
	fs.StringVar(&f.keys, "keys", "", "serve only who has a key of this file, over RDMA, gRPC and HTTP (catfish keys); read again when it changes")
	fs.StringVar(&t.Cert, "tls-cert", "", "certificate of the gRPC and HTTP services, PEM, with those between it and the root; read again when it changes")
	fs.StringVar(&t.Key, "tls-key", "", "its key, PEM")
	fs.StringVar(&t.ClientCA, "tls-client-ca", "", "roots, PEM: gRPC and HTTP clients need a certificate of one of them")
}

// openKeys reads the file of --keys.
func (f *serveFlags) openKeys(o *daemon.Options) (err error) {
	if f.keys != "" {
		if o.Server.Keys, err = catfish.OpenKeys(f.keys, o.Server.Logger); err != nil {
			return fmt.Errorf("--keys: %w", err)
		}
	}
	return nil
}

// checkGuards reads the files that say whom the server serves, besides --keys, for 'config check'.
func (f *serveFlags) checkGuards(o *daemon.Options) error {
	if o.TLS.Cert == "" {
		return nil
	}
	_, err := certs.NewServer(certs.Files(o.TLS), o.Server.Logger)
	return err
}
