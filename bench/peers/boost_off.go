//go:build !boost || !cgo

package peers

func boostPeers() []Peer { return nil }
