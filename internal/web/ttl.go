package web

import (
	"math"
	"time"
)

// ttl is parameter ttl, after which written features expire: the expiry in nanoseconds
// since the Unix epoch; 0: the parameter is absent.
func (q *request) ttl() (expires int64, err error) {
	text, ok := q.params.take("ttl")
	if !ok {
		return 0, nil
	}
	const want = "a duration greater than 0, such as 90s, 10m or 24h"
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, &paramError{name: "ttl", value: text, want: want}
	}
	now := q.o.Now().UnixNano()
	if int64(d) > math.MaxInt64-now {
		return 0, &paramError{name: "ttl", value: text, want: want + ", that ends before the year 2262"}
	}
	return now + int64(d), nil
}
