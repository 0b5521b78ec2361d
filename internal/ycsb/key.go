package ycsb

// KeyBytes is the length of a key.
const KeyBytes = 16

// Key is 16 hexadecimal digits: printable, since memcached's protocol is
// text.
type Key [KeyBytes]byte

// String returns the digits.
func (k Key) String() string { return string(k[:]) }

// Keys are numbered by 64 bits:
//
//	63        40 39               0
//	| owner     | number          |
//
// Owner 0 has the loaded keys, owner c+1 the insertions of client c: so clients
// insert different keys without knowing of each other.
const (
	ownerShift = 40
	// MaxKeys is the largest number of loaded keys.
	MaxKeys = 1 << ownerShift
	// MaxClients is the number of clients, which count from 0.
	MaxClients = 1<<(64-ownerShift) - 1
)

// hashedKey scatters keys: mix is a bijection, so none collide.
func hashedKey(number uint64) Key { return digits(mix(number)) }

// digits returns big-endian digits, so that keys are ordered as their numbers are.
func digits(x uint64) (k Key) {
	const hex = "0123456789abcdef"
	for i := range k {
		k[KeyBytes-1-i] = hex[x&15]
		x >>= 4
	}
	return k
}
