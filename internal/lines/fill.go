//go:build !race

package lines

// Fill copies min(len(dst), len(src)) bytes to memory that another CPU copies
// at the same time by Copy, but does not accept before a later Store: until
// then it is plain memory to this side. It returns their number.
func Fill(dst, src []byte) int { return copy(dst, src) }
