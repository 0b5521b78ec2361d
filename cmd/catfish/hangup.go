package main

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// ignoreHangups keeps SIGHUP from ending a server: init systems and log
// rotation send it for "reload", and a terminal when it closes. There is
// nothing to reload, which the log says.
func ignoreHangups(log *slog.Logger) (stop func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range hup {
			log.Warn("SIGHUP ignored: there is no configuration to reload; SIGTERM or Ctrl-C ends the server")
		}
	}()
	return func() {
		signal.Stop(hup)
		close(hup)
		<-ended
	}
}
