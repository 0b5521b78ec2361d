package access

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrUnauthenticated: there is no key, or not one that the server accepts. It does
	// not distinguish a wrong key from an ended and an expired one.
	ErrUnauthenticated = errors.New("no valid key")
	// ErrPermission: the key is good, but not for this.
	ErrPermission = errors.New("the key does not permit this")
	// ErrNameTaken: another key of the file has this name. Revoke would then find
	// neither by the name.
	ErrNameTaken = errors.New("the name is another key's")
	// ErrRateLimited: the key has used up its rate. The error is a
	// *RateLimitedError.
	ErrRateLimited = errors.New("rate limit of the key is used up")
	// ErrFile: the file of keys is malformed.
	ErrFile = errors.New("bad file of keys")
	// ErrUnknownKey: the file has no such key.
	ErrUnknownKey = errors.New("no such key")
	// ErrBusy: another program changes the file.
	ErrBusy = errors.New("file of keys is being changed")
)

// RateLimitedError says when the next request may succeed.
type RateLimitedError struct {
	Key        string // its id
	PerSecond  float64
	RetryAfter time.Duration
}

func (e *RateLimitedError) Error() string {
	return fmt.Sprintf("%v: key %s may ask %g times a second, again in %v",
		ErrRateLimited, e.Key, e.PerSecond, e.RetryAfter.Round(time.Millisecond))
}

// Is makes it an ErrRateLimited.
func (e *RateLimitedError) Is(target error) bool { return target == ErrRateLimited }
