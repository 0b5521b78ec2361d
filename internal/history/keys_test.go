package history

import (
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	for name, c := range map[string]struct {
		ok  bool
		ops func(k *Keys)
	}{
		"what was stored is read": {true, func(k *Keys) {
			k.Put(1, k.Now(), 7, 1, false, Done)
			k.Get(2, k.Now(), 7, 1)
			k.Delete(1, k.Now(), 7, Done)
			k.Get(2, k.Now(), 7, 0)
		}},
		"an old value": {false, func(k *Keys) {
			k.Put(1, k.Now(), 7, 1, false, Done)
			k.Put(1, k.Now(), 7, 2, false, Done)
			k.Get(2, k.Now(), 7, 1)
		}},
		"a deleted value": {false, func(k *Keys) {
			k.Put(1, k.Now(), 7, 1, false, Done)
			k.Delete(1, k.Now(), 7, Done)
			k.Get(2, k.Now(), 7, 1)
		}},
		"missed elsewhere": {true, func(k *Keys) {
			k.Put(1, k.Now(), 7, 1, false, Done)
			k.Missed(2, k.Now(), 7, func(value uint64) bool { return value != 1 })
		}},
		"missed": {false, func(k *Keys) {
			k.Put(1, k.Now(), 7, 1, false, Done)
			k.Missed(2, k.Now(), 7, func(value uint64) bool { return value == 1 })
		}},
		"a value of nobody":   {false, func(k *Keys) { k.Get(2, k.Now(), 7, 1) }},
		"refused, and absent": {false, func(k *Keys) { k.Put(1, k.Now(), 7, 1, true, Refused) }},
		"stored, and present": {false, func(k *Keys) {
			k.Put(1, k.Now(), 7, 1, true, Done)
			k.Put(1, k.Now(), 7, 2, true, Done)
		}},
		"perhaps, later": {true, func(k *Keys) {
			k.Put(1, k.Now(), 7, 1, false, Unknown)
			k.Get(2, k.Now(), 7, 0)
			k.Get(2, k.Now(), 7, 1)
		}},
		"perhaps, but not back": {false, func(k *Keys) {
			k.Put(1, k.Now(), 7, 1, false, Unknown)
			k.Get(2, k.Now(), 7, 1)
			k.Get(2, k.Now(), 7, 0)
		}},
	} {
		k := NewKeys()
		c.ops(k)
		if err := k.Check(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A history that no order explains is shown to the first operation that does not fit.
func TestKeysEvidence(t *testing.T) {
	k := NewKeys()
	for i := range int64(100) {
		k.Add(KeyOp{Client: 1, Key: 7, Call: 10 * i, End: 10*i + 5, Value: uint64(i + 1)})
		k.Add(KeyOp{Client: 2, Key: 7, Call: 10*i + 6, End: 10*i + 7, Read: true, Value: uint64(i + 1)})
	}
	k.Add(KeyOp{Client: 3, Key: 7, Call: 506_000_000, End: 507_000_000, Read: true, Value: 100})
	if err := k.Check(); err != nil {
		t.Fatalf("a good history: %v", err)
	}
	k.Add(KeyOp{Client: 4, Key: 7, Call: 516, End: 517, Read: true, Value: 50})
	err := k.Check()
	if err == nil || !strings.HasSuffix(err.Error(), "reads 50") || strings.Count(err.Error(), "\n") != shown {
		t.Errorf("%v, want the last of %d lines to be the read of 50", err, shown)
	}
}
