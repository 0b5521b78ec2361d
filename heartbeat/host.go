package heartbeat

// Host is the System of this process: on Linux the cores that its
// affinity mask allows, and the quota of its cgroup, both as they are
// when asked. On other Unix systems all cores, of which it sees only
// its own use; elsewhere it fails with ErrUnsupported.
type Host struct{}
