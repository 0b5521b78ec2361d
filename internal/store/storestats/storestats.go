// Package storestats has what a store says of itself, as JSON: clients read it without
// linking the store.
package storestats

// Store is the state of a Store. Counts are since it was opened.
type Store struct {
	// Writes by the names of their Results.
	Writes map[string]uint64 `json:"writes"`
	// Batches are writes that were committed together, and Commits their durations,
	// in microseconds: with disk.SyncAlways until they were durable.
	Batches Histogram `json:"batches"`
	Commits Histogram `json:"commits"`
	// Revision of the last write, of all collections.
	Revision uint64 `json:"revision"`
	// Waiting is the number of writes in the commit queue.
	Waiting int `json:"waiting"`
	// Watchers and their areas, and how many watchers ended because they were too slow.
	Watchers     int    `json:"watchers"`
	WatchedAreas int    `json:"watched_areas"`
	Lagged       uint64 `json:"lagged"`
	// Disk is nil if the store has no data directory.
	Disk *Disk `json:"disk,omitempty"`
}

// Disk is the state of a DB.
type Disk struct {
	Dir      string `json:"dir"`
	Sync     string `json:"sync"`     // always, off or an interval
	Revision uint64 `json:"revision"` // of the last entry acknowledged
	Durable  uint64 `json:"durable"`  // not above it: known to survive a crash
	// LogBytes are about what the log takes, before compression.
	LogBytes int64 `json:"log_bytes"`
	// Syncs are fsyncs of the write-ahead log, in microseconds.
	Syncs Histogram `json:"syncs"`
	// ReadOnly is why commits are refused, empty: they are not.
	ReadOnly string `json:"read_only,omitempty"`
	// Recoveries is how often commits were taken again after a failure.
	Recoveries uint64 `json:"recoveries"`
}

// Histogram counts values by size, at a moment.
type Histogram struct {
	Count uint64 `json:"count"`
	Sum   uint64 `json:"sum"`
	// Buckets[i] are how many values are up to 2^i, and above 2^(i-1); others are
	// in none.
	Buckets []uint64 `json:"buckets"`
}
