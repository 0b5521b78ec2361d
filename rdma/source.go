package rdma

// Sourced is a QueuePair or a ConnRequest that knows better than by its peer's name whose share
// of a server's resources the peer takes: whatever a peer cannot have many of
// for free, such as a user.
type Sourced interface {
	Source() string
}
