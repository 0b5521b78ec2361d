// Package certs has the TLS side of servers and clients: certificates from PEM
// files, which may be replaced while the server runs.
//
// A connection is served by the files as they were when it began. Files that
// cannot be used (for instance a certificate without its key, for a moment
// while both are replaced) change nothing; the log says why, and the next look
// tries again.
package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/watched"
)

// ErrFile: a file has no certificate, no key, or one that does not fit.
var ErrFile = errors.New("bad TLS file")

// Files are names of PEM files.
type Files struct {
	Cert, Key string // the certificate, with those between it and the root, and its key
	// ClientCA has the roots that clients' certificates must lead to. Empty:
	// clients need none.
	ClientCA string
}

// Server has a server's certificates. All methods are safe for concurrent use.
type Server struct {
	files   Files
	log     *slog.Logger
	stat    *watched.Files
	present atomic.Pointer[tls.Config]
	failed  atomic.Bool // whether the last look failed
}

// NewServer reads the files.
func NewServer(f Files, log *slog.Logger) (*Server, error) {
	s := &Server{files: f, log: log, stat: watched.New(f.Cert, f.Key, f.ClientCA)}
	return s, s.Reload()
}

// Config is for the server's listeners. One call is enough: it follows
// changes.
func (s *Server) Config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.present.Load(), nil },
	}
}

// ConfigFor is Config for a listener whose clients speak a protocol that is none of HTTP's.
func (s *Server) ConfigFor(protocol string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c := s.present.Load().Clone()
			c.NextProtos = []string{protocol}
			return c, nil
		},
	}
}

// Peer is for a connection to another server of the same roots, whose certificate must be
// for a name: both show their certificates. protocol is what both speak.
func (s *Server) Peer(name, protocol string) *tls.Config {
	p := s.present.Load()
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: p.Certificates, RootCAs: p.ClientCAs, ServerName: name,
		NextProtos: []string{protocol}}
}

// Reload reads the files. An error, which wraps ErrFile, changes nothing.
func (s *Server) Reload() error {
	pair, err := tls.LoadX509KeyPair(s.files.Cert, s.files.Key)
	if err != nil {
		return fmt.Errorf("%w: %s, %s: %w", ErrFile, s.files.Cert, s.files.Key, err)
	}
	// A new Config has new keys for session tickets: no session outlives the
	// roots that its client was checked by.
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if s.files.ClientCA != "" {
		if c.ClientCAs, err = roots(s.files.ClientCA); err != nil {
			return err
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	s.present.Store(c)
	return nil
}

// Poll reads the files if one has changed, or could not be used at the last look.
func (s *Server) Poll() {
	changed, err := s.stat.Changed()
	if !changed && !s.failed.Load() {
		return
	}
	if err == nil {
		err = s.Reload()
	}
	again := s.failed.Swap(err != nil)
	switch {
	case err == nil:
		s.log.Warn("TLS certificates reloaded", "cert", s.files.Cert)
	case changed || !again:
		s.log.Error("TLS certificates not reloaded, the old ones stay", "cert", s.files.Cert, "err", err)
	}
}

// Expires is when the server's certificate ends.
func (s *Server) Expires() time.Time {
	return s.present.Load().Certificates[0].Leaf.NotAfter
}

// pollInterval is how soon a new certificate is served: those are replaced
// days before they end.
const pollInterval = 10 * time.Second

// Watch polls until ctx is done.
func (s *Server) Watch(ctx context.Context) {
	t := time.NewTicker(pollInterval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			s.Poll()
		case <-ctx.Done():
			return
		}
	}
}

// Client is a client's configuration: the roots that the server's certificate
// must lead to (empty: the system's), and the client's own certificate, if the
// server wants one.
func Client(ca, cert, key string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	var err error
	if ca != "" {
		if c.RootCAs, err = roots(ca); err != nil {
			return nil, err
		}
	}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%w: %s, %s: %w", ErrFile, cert, key, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

func roots(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFile, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%w: %s has no certificate", ErrFile, file)
	}
	return pool, nil
}
