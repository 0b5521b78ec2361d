package remote

// A binary heap over a slice; container/heap would box every element.

func heapPush[T any](h *[]T, v T, less func(a, b T) bool) {
	*h = append(*h, v)
	heapUp(*h, len(*h)-1, less)
}

// heapUp moves s[i], which has become less, to where it belongs.
func heapUp[T any](s []T, i int, less func(a, b T) bool) {
	for i > 0 {
		up := (i - 1) / 2
		if !less(s[i], s[up]) {
			break
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

func heapPop[T any](h *[]T, less func(a, b T) bool) T {
	s := *h
	top, last := s[0], len(s)-1
	s[0] = s[last]
	s = s[:last]
	*h = s
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			return top
		}
		if c+1 < last && less(s[c+1], s[c]) {
			c++
		}
		if !less(s[c], s[i]) {
			return top
		}
		s[i], s[c] = s[c], s[i]
		i = c
	}
}
