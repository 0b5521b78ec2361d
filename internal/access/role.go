package access

import (
	"fmt"
	"strings"

	"github.com/catfish-index/catfish/internal/names"
)

// Role is what a key may do with a collection. Each includes those before it: a
// writer learns from conditions and answers what the collection contains, so a role
// that writes and does not read would promise more than it keeps.
type Role uint8

const (
	None  Role = iota
	Read       // search, count, get, watch; open it for offloading
	Write      // put, move and delete objects
	Admin      // create and drop it
	// Replica is none of these: the key is that of a member of groups of servers, and its
	// patterns are names of groups. Another member gives it the whole store.
	Replica
)

var roleNames = [...]string{"none", "read", "write", "admin", "replica"}

func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("role %d", uint8(r))
}

// grant gives a role for the collections whose names match a pattern: a name,
// or the beginning of names and *.
type grant struct {
	pattern string
	role    Role
}

const (
	// maxPattern is the longest name of a collection, and *.
	maxPattern = names.MaxBytes + 1
	// maxGrants bounds the cost of one check of a collection: a microsecond.
	maxGrants = 256
)

// parseGrant reads "cafes:read", "eu-*:write", "*:admin" or "group:replica".
func parseGrant(s string) (grant, error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return grant{}, fmt.Errorf("role %.200q, want COLLECTION:read, :write, :admin, or GROUP:replica", s)
	}
	g := grant{pattern: s[:i]}
	if n := len(g.pattern); n == 0 || n > maxPattern {
		return g, fmt.Errorf("role %.200q: pattern of %d bytes, want 1..%d", s, n, maxPattern)
	}
	if star := strings.IndexByte(g.pattern, '*'); star >= 0 && star != len(g.pattern)-1 {
		return g, fmt.Errorf("role %.200q: * stands at the end only", s)
	}
	for r := Read; r <= Replica; r++ {
		if s[i+1:] == roleNames[r] {
			g.role = r
			return g, nil
		}
	}
	return g, fmt.Errorf("role %.200q: %q is none of read, write, admin, replica", s, s[i+1:])
}

func (g grant) matches(collection string) bool {
	if head, ok := strings.CutSuffix(g.pattern, "*"); ok {
		return strings.HasPrefix(collection, head)
	}
	return g.pattern == collection
}

// roleOf returns the largest of the roles for a collection.
func roleOf(grants []grant, collection string) Role {
	r := None
	for _, g := range grants {
		if g.role > r && g.matches(collection) {
			r = g.role
		}
	}
	return r
}
