package limits

// Host is the process whose memory and scheduling slots the services beside a server,
// gRPC and HTTP, share: *catfish.Server is one, or Alone. The methods are safe for
// concurrent use.
type Host interface {
	Memory
	Stepper
}

// Alone is the host of a service that is not part of a larger server.
type Alone struct{ *Slots }

// CheckMemory finds memory to be never full.
func (Alone) CheckMemory() error { return nil }
