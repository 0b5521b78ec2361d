package server

// A collection that the server has not loaded looks like an empty one. So
// clients cannot open it: they get ErrNotReady, by whichever path they
// search, since every call begins with open. They stay connected meanwhile,
// and continue when the collection is ready.

// SetReady opens a collection of Options.Loading to clients.
func (s *Server) SetReady(name string) error {
	c, err := s.store.Lookup(name)
	if err != nil {
		return err
	}
	c.SetReady()
	return nil
}

// Ready returns nil if clients can use a collection. Otherwise the error wraps
// ErrNotReady or ErrUnknownCollection. It is for other services of the
// process, such as gRPC.
func (s *Server) Ready(name string) error {
	c, err := s.store.Lookup(name)
	if err != nil {
		return err
	}
	return c.Ready()
}

// loading lists the collections that are not ready, sorted.
func (s *Server) loading() (l []string) {
	for _, c := range s.store.All() {
		if c.Loading() {
			l = append(l, c.Name)
		}
	}
	return l
}
