package cli

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// catchHangup makes SIGHUP wait in the channel, instead of ending the process: init
// systems and log rotation send it for "reload", and a terminal when it closes.
func catchHangup() chan os.Signal {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	return hup
}

// onHangup makes each signal reload keys and certificates. If there is nothing to reload
// the log says so.
func onHangup(hup chan os.Signal, log *slog.Logger, nothing bool, reload func() error) (stop func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range hup {
			err := reload()
			switch {
			case err != nil:
				log.Error("SIGHUP: not reloaded, the old ones stay", "err", err)
			case nothing:
				log.Warn("SIGHUP ignored: there is no configuration to reload; SIGTERM or Ctrl-C ends the server")
			default:
				log.Warn("SIGHUP: keys and certificates reloaded")
			}
		}
	}()
	return func() {
		signal.Stop(hup)
		close(hup)
		<-ended
	}
}
