//go:build !linux

package mapped

// AdviseHuge does nothing here.
func AdviseHuge([]byte) {}
