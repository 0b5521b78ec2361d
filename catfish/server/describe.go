package server

import (
	"encoding/json"
)

// describe answers a client.
func (c *collection) describe() ([]byte, error) {
	d, err := c.features.Describe()
	if err != nil {
		return nil, c.goneOr(err)
	}
	return json.Marshal(d)
}
