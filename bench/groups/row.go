package groups

import "time"

// Row is one result. One of the pointers is set, that of its part.
type Row struct {
	Part      string     `json:"part"`
	Transport string     `json:"transport"` // of lanes and clients
	DelayUs   float64    `json:"delay_us"`  // one way, in namespaces
	Network   string     `json:"network"`
	Sync      string     `json:"sync"` // --sync of the servers
	Commit    string     `json:"commit"`
	Writes    *WritesRow `json:"writes,omitempty"`
	Switch    *SwitchRow `json:"switch,omitempty"`
	Copy      *SyncRow   `json:"sync_of_a_member,omitempty"`
	Lane      *LaneRow   `json:"lane,omitempty"`
	Move      *MoveRow   `json:"move_of_a_slot,omitempty"`
}

// WritesRow is a kind of write, to a set-up, by some clients. Figures are medians of rounds.
type WritesRow struct {
	Kind    string  `json:"kind"`
	Members int     `json:"members"` // 0: a server alone
	Level   string  `json:"level,omitempty"`
	Clients int     `json:"clients"`
	Ops     float64 `json:"ops_per_s"`
	Mean    float64 `json:"mean_us"`
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
	CPU     float64 `json:"primary_cpu_us"` // a write
	// By those of the server alone in the same rounds: medians of ratios.
	OpsTimes  float64 `json:"ops_times"`
	MeanTimes float64 `json:"mean_times"`
	P50Times  float64 `json:"p50_times"`
	P99Times  float64 `json:"p99_times"`
	CPUTimes  float64 `json:"primary_cpu_times"`

	Runs []Round `json:"runs"` // of each round
}

// Round is one round.
type Round struct {
	Ops  float64 `json:"ops_per_s"`
	Mean float64 `json:"mean_us"`
	P50  float64 `json:"p50_us"`
	P99  float64 `json:"p99_us"`
	CPU  float64 `json:"primary_cpu_us"`
}

// SwitchRow is all planned switches of a group of three.
type SwitchRow struct {
	Switches int `json:"switches"`
	Writes   int `json:"writes"`
	// Gaps are the longest times between two acknowledged writes around a switch, Longest
	// the longest write around one, and Command the time of 'catfish cluster switch'.
	GapP50    float64   `json:"gap_p50_ms"`
	GapP99    float64   `json:"gap_p99_ms"`
	GapMax    float64   `json:"gap_max_ms"`
	Longest   float64   `json:"longest_write_ms"`
	Command   float64   `json:"command_p50_ms"`
	Errors    int       `json:"errors"`
	First     string    `json:"first_error,omitempty"`
	Gaps      []float64 `json:"gaps_ms"`
	NoSwitch  float64   `json:"gap_without_switch_ms"` // the same in a time as long as the longest window, without a switch
	NotLonger int       `json:"gaps_of_50_ms_or_less"`
}

// SyncRow is a new member with an empty directory.
type SyncRow struct {
	Objects int     `json:"objects"`
	Writers bool    `json:"writers"` // others write meanwhile
	Bytes   int64   `json:"bytes"`   // of the new member's directory
	Seconds float64 `json:"seconds"` // from the start of the process until it is in sync
	MBs     float64 `json:"mb_per_s"`
	// CPU of the primary in that time, and what it used in as long a time before.
	CPU     float64 `json:"primary_cpu_s"`
	CPUIdle float64 `json:"primary_cpu_before_s"`
	// Writes a second before and meanwhile, 0 without writers.
	Before float64 `json:"writes_before_per_s,omitempty"`
	During float64 `json:"writes_during_per_s,omitempty"`
	Errors int     `json:"errors"`
	First  string  `json:"first_error,omitempty"`
	// The same bytes through a lane alone, and copied in memory.
	LaneMBs   float64 `json:"lane_mb_per_s"`
	MemoryMBs float64 `json:"memory_mb_per_s"`
	// Share is MBs by the smaller one of these two.
	Share float64 `json:"share_of_link"`
}

// MoveRow is all moves of a slot between two groups, while some clients write ids of the slot,
// and others other ids.
type MoveRow struct {
	Moves   int `json:"moves"`
	Objects int `json:"objects"`
	Members int `json:"members"` // of each group
	// Gaps are the longest times around a move in which no write of the slot was acknowledged,
	// NoMove the same without a move, and Command the time of 'catfish cluster move'.
	GapP50  float64   `json:"gap_p50_ms"`
	GapP99  float64   `json:"gap_p99_ms"`
	GapMax  float64   `json:"gap_max_ms"`
	NoMove  float64   `json:"gap_without_move_ms"`
	Command float64   `json:"command_p50_s"`
	Gaps    []float64 `json:"gaps_ms"`
	// Others is the rate of writes of other ids in the time of a move, by that in a second
	// before it: the median, and the lowest one.
	Others    float64 `json:"others_share"`
	OthersMin float64 `json:"others_share_min"`
	Writes    int     `json:"writes"`
	Errors    int     `json:"errors"`
	First     string  `json:"first_error,omitempty"`
}

// LaneRow is a way of package lanes, in one process without a store.
type LaneRow struct {
	Mode      string  `json:"mode"`
	Followers int     `json:"followers"`
	Clients   int     `json:"clients"`
	Mean      float64 `json:"mean_us"` // of a client
	Strict    float64 `json:"times_of_strict"`
	Answers   float64 `json:"answers_per_write"`
}

func (l *lab) row(part string, c cell) Row {
	return Row{
		Part: part, Transport: c.transport(), DelayUs: float64(c.delay) / float64(time.Microsecond), Network: c.network,
		Sync: l.cfg.Sync, Commit: l.cfg.Commit,
	}
}
