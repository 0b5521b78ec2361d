package offload

import "testing"

// TestShared: users of one key share one value until the last has released
// it, and users of other keys share none with them.
func TestShared(t *testing.T) {
	var s, other Shared[string, *int]
	made := 0
	fresh := func() *int { made++; return new(int) }
	first, release1 := s.Share("k", fresh)
	second, release2 := s.Share("k", fresh)
	if first == nil || first != second || made != 1 {
		t.Fatalf("two users of one key: %d values", made)
	}
	if v, release := s.Share("l", fresh); v == first {
		t.Error("two keys share a value")
	} else {
		release()
	}
	apart, releaseApart := other.Share("k", fresh)
	if apart == first {
		t.Error("two handles share a value")
	}
	release1()
	release1() // a second time does nothing
	third, release3 := s.Share("k", fresh)
	if third != first {
		t.Error("dropped while in use")
	}
	release2()
	release3()
	if s.Len() != 0 || other.Len() != 1 {
		t.Errorf("%d and %d values are left, want 0 and 1", s.Len(), other.Len())
	}
	releaseApart()
	again, release := s.Share("k", fresh)
	defer release()
	if again == first {
		t.Error("came back after its last user had left")
	}
}
