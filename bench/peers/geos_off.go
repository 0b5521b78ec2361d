//go:build !geos || !cgo

package peers

func geosPeers() []Peer { return nil }
