package web

import (
	"io"
	"net/http"
)

// probes are for orchestrators that know this port alone, like those of package metrics.
// They need no key, reveal no stored data, and are not counted as requests.
//
//	/healthz   200 as long as the process answers
//	/readyz    200 when the features are loaded and Options.Ready returns nil, 503 before
func (s *Server) probes() {
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n")
	})
	s.mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		_, err := s.ready()
		if err == nil && s.o.Ready != nil {
			err = s.o.Ready()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ready\n")
	})
}
