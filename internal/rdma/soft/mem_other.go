//go:build !unix

package soft

func alloc(size int) (mem []byte, free func(), err error) {
	return allocHeap(size)
}
