package access

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/catfish-index/catfish/internal/names"
)

// Entry is a line of the file: a key without its secret.
type Entry struct {
	ID   string `json:"id"` // 12 hexadecimal digits
	Name string `json:"name"`
	// Hash is "sha256:" and the hexadecimal hash of the whole key.
	Hash  string   `json:"hash"`
	Roles []string `json:"roles"` // such as cafes:read, eu-*:write, *:admin
	// Rate is how many requests a second are accepted, 0: any number. Burst is how
	// many of them may come at once, 0: a second's, and at least 10.
	Rate    float64 `json:"rate,omitempty"`
	Burst   int     `json:"burst,omitempty"`
	Created string  `json:"created,omitempty"` // RFC 3339
	Expires string  `json:"expires,omitempty"` // RFC 3339; empty: never
}

// The text of a key has a prefix that programs which look for leaked secrets
// can recognise.
const (
	keyPrefix  = "catfish_"
	idDigits   = 12 // 48 bits: a collision among 65,536 keys has odds of 1 : 130,000, and is refused
	secretSize = 32
	keyBytes   = len(keyPrefix) + idDigits + 1 + 2*secretSize
	hashPrefix = "sha256:"
	maxName    = 128
	maxRate    = 1e9
	maxBurst   = 1 << 30
	// leastBurst unless an entry says otherwise: a command sends four requests, one
	// each for the statistics, the kind, the collection and the answer. With a smaller
	// burst no command of a slow key would ever end. Ten allow two commands.
	leastBurst = 10
)

// NewKey makes a key. The entry has its hash; the text is stored nowhere.
// NewKey sets e's ID and Hash, the caller the rest. The roles are for collections that
// may be created; roles of a file for other names count as before.
func NewKey(e Entry) (Entry, string, error) {
	var b [idDigits/2 + secretSize]byte
	if _, err := rand.Read(b[:]); err != nil {
		return e, "", fmt.Errorf("no random bits: %w", err)
	}
	e.ID = hex.EncodeToString(b[:idDigits/2])
	key := keyPrefix + e.ID + "_" + hex.EncodeToString(b[idDigits/2:])
	sum := sha256.Sum256([]byte(key))
	e.Hash = hashPrefix + hex.EncodeToString(sum[:])
	r, err := e.rule()
	for _, g := range slices.Concat(r.grants, r.groups) {
		if bad := names.CheckPattern(g.pattern); bad != nil {
			err = cmp.Or(err, fmt.Errorf("key %s: role %s:%v: %w", e.ID, names.Text(g.pattern), g.role, bad))
		}
	}
	return e, key, err
}

// cutKey returns the id of a key, and whether the text has the form of one.
func cutKey(key string) (id string, ok bool) {
	if len(key) != keyBytes || !strings.HasPrefix(key, keyPrefix) {
		return "", false
	}
	rest := key[len(keyPrefix):]
	return rest[:idDigits], rest[idDigits] == '_'
}

// rule is a checked entry.
type rule struct {
	hash    [sha256.Size]byte
	grants  []grant   // for collections
	groups  []grant   // of role Replica
	expires time.Time // zero: never
}

// rule checks an entry. The errors do not wrap ErrFile: callers name the line.
func (e *Entry) rule() (r rule, err error) {
	if len(e.ID) != idDigits || !isHex(e.ID) {
		return r, fmt.Errorf("id %.40q, want %d digits 0-9a-f", e.ID, idDigits)
	}
	if len(e.Name) > maxName || strings.ContainsFunc(e.Name, unicode.IsControl) {
		return r, fmt.Errorf("key %s: name %.200q, want up to %d bytes without control characters", e.ID, e.Name, maxName)
	}
	digits, ok := strings.CutPrefix(e.Hash, hashPrefix)
	if n, err := hex.Decode(r.hash[:], []byte(digits[:min(len(digits), 2*len(r.hash))])); !ok || err != nil ||
		n != len(r.hash) || len(digits) != 2*len(r.hash) {
		return r, fmt.Errorf("key %s: hash %.100q, want %s and %d digits 0-9a-f", e.ID, e.Hash, hashPrefix, 2*len(r.hash))
	}
	if len(e.Roles) == 0 {
		return r, fmt.Errorf("key %s: no roles, want at least one, such as cafes:read", e.ID)
	}
	if len(e.Roles) > maxGrants {
		return r, fmt.Errorf("key %s: %d roles, want at most %d", e.ID, len(e.Roles), maxGrants)
	}
	for _, s := range e.Roles {
		g, err := parseGrant(s)
		if err != nil {
			return r, fmt.Errorf("key %s: %w", e.ID, err)
		}
		if g.role == Replica {
			r.groups = append(r.groups, g)
		} else {
			r.grants = append(r.grants, g)
		}
	}
	if !(e.Rate >= 0 && e.Rate <= maxRate) || e.Burst < 0 || e.Burst > maxBurst {
		return r, fmt.Errorf("key %s: rate %g and burst %d, want 0..%g and 0..%d", e.ID, e.Rate, e.Burst, maxRate, maxBurst)
	}
	if e.Burst > 0 && e.Rate == 0 {
		return r, fmt.Errorf("key %s: a burst of %d without a rate", e.ID, e.Burst)
	}
	if e.Expires != "" {
		if r.expires, err = time.Parse(time.RFC3339, e.Expires); err != nil {
			return r, fmt.Errorf("key %s: expires %.40q, want a time such as 2027-01-31T00:00:00Z", e.ID, e.Expires)
		}
	}
	return r, nil
}

// burst is how many requests may come at once.
func (e *Entry) burst() int {
	if e.Burst > 0 {
		return e.Burst
	}
	return max(leastBurst, int(math.Ceil(e.Rate)))
}

func (e *Entry) equal(o *Entry) bool {
	if len(e.Roles) != len(o.Roles) {
		return false
	}
	for i := range e.Roles {
		if e.Roles[i] != o.Roles[i] {
			return false
		}
	}
	return e.ID == o.ID && e.Name == o.Name && e.Hash == o.Hash && e.Rate == o.Rate &&
		e.Burst == o.Burst && e.Expires == o.Expires
}

func isHex(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') })
}

// Read bounds.
const (
	// MaxFileBytes bounds a file of keys, and maxKeys how many it has.
	MaxFileBytes = 16 << 20
	maxKeys      = 1 << 16
)

var errTooMany = errors.New("too many keys")
