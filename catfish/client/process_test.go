//go:build !ofi

package client

// serveChild: only the tests of ofi need servers in other processes here.
func serveChild() {}
