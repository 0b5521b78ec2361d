package client

import "github.com/catfish-index/catfish/internal/store/query"

// Filters compile the filters of places (Options.Filters).
type Filters = query.Filters
