package api

import "strings"

// packages begin the error texts of Go. Callers in other languages cannot look
// them up, so their messages omit them.
var packages = []string{
	"api: ", "catfish: ", "store: ", "disk: ", "kv: ", "filter: ", "record: ", "cuckoo: ", "rstar: ", "fastmsg: ",
}

// textOf is the message of a status made of err.
func textOf(err error, most int) string { return clip(withoutPackages(err.Error()), most) }

// withoutPackages leaves out the names of packages, except within quotes: that
// text is the caller's own.
func withoutPackages(s string) string {
	var b strings.Builder
	quoted, word := false, true // word: one begins here
next:
	for i := 0; i < len(s); i++ {
		c := s[i]
		if word && !quoted {
			for _, p := range packages {
				if strings.HasPrefix(s[i:], p) {
					i += len(p) - 1
					continue next
				}
			}
		}
		b.WriteByte(c)
		switch {
		case quoted && c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case c == '"':
			quoted = !quoted
		}
		word = c == ' ' || c == '(' || c == '\n'
	}
	return b.String()
}

// noCollection is an ErrNoCollection that has a text of its own.
type noCollection struct{ err error }

func (e noCollection) Error() string        { return e.err.Error() }
func (e noCollection) Is(target error) bool { return target == ErrNoCollection }
func (e noCollection) Unwrap() error        { return e.err }
