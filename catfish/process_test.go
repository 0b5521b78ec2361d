//go:build !ofi

package catfish

// serveChild: only the tests of ofi need servers in other processes here.
func serveChild() {}
