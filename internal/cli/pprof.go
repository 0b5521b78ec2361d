package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/netutil"
)

// Profiles of a server (package net/http/pprof)
//
// Profiles reveal what a server does, show its command line, and cost it time. So they
// have a listener of their own, which only this machine reaches unless the address says
// otherwise. The import also registers them at http.DefaultServeMux, which no server
// here uses.

// errPprof is wrapped when the address of --pprof is taken.
var errPprof = errors.New("pprof: address in use")

const (
	// pprofConns bounds the connections; further ones wait.
	pprofConns = 16
	// pprofIdle is how long a connection stays open between requests, and
	// pprofHeaders how long its headers may take.
	pprofIdle, pprofHeaders = time.Minute, 10 * time.Second
)

func registerPprof(c *cobra.Command, addr *string) {
	c.Flags().StringVar(addr, "pprof", "",
		"host:port of profiles for go tool pprof, empty: none; who reaches it needs no key. :PORT is that of 127.0.0.1")
}

// pprofAddr returns the address to listen at: on this machine, if addr has no host.
func pprofAddr(addr string) (string, error) {
	if addr == "" {
		return "", nil
	}
	if err := CheckAddr("pprof", addr, 0); err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(addr)
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), err
}

// servePprof serves profiles on addr, if not empty, and returns the address and a
// function that ends the service. A failure goes to fail.
func servePprof(ctx context.Context, addr string, to *slog.Logger, fail func(error)) (string, func(), error) {
	if addr == "" {
		return "", func() {}, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return "", nil, fmt.Errorf("%w: %w", errPprof, err)
		}
		return "", nil, fmt.Errorf("pprof: cannot listen on %q: %w", addr, err)
	}
	if at, err := netip.ParseAddrPort(l.Addr().String()); err != nil || !at.Addr().Unmap().IsLoopback() {
		to.Warn("profiles are open to other machines (--pprof)", "addr", l.Addr().String())
	}
	// There is no timeout of writes: the client chooses the duration of a profile.
	s := &http.Server{
		Handler: pprofMux(), ReadHeaderTimeout: pprofHeaders, IdleTimeout: pprofIdle,
		ErrorLog:    log.New(io.Discard, "", 0), // Clients cause these lines.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(netutil.LimitListener(l, pprofConns)); !errors.Is(err, http.ErrServerClosed) {
			fail(fmt.Errorf("pprof: %w", err))
		}
	}()
	return l.Addr().String(), func() {
		s.Close()
		<-done
	}, nil
}

// pprofMux serves the profiles.
func pprofMux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol) // go tool pprof posts addresses.
	return mux
}
