package history

import "testing"

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
