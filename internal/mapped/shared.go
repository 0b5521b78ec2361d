package mapped

import "errors"

// ErrNotOurs: a file that is to be shared is not one of this user alone.
var ErrNotOurs = errors.New("mapped: not a file of this user alone")
