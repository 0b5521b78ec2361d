package rdma

// Sourced is a QueuePair or a ConnRequest that knows, better than by its
// peer's name, the source whose share of a server's resources the peer takes:
// something that a peer cannot multiply for free, such as a user.
type Sourced interface {
	Source() string
}
