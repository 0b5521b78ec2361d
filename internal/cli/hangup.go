package cli

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// onHangup makes SIGHUP reload keys and certificates, instead of ending the server:
// init systems and log rotation send it for "reload", and a terminal when it closes.
// If there is nothing to reload the log says so.
func onHangup(log *slog.Logger, reload func() (nothing bool, err error)) (stop func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range hup {
			switch nothing, err := reload(); {
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
