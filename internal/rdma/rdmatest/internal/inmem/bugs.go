package inmem

// Bug is one way to break the contract of package rdma. The conformance
// suite finds each.
type Bug string

// None is the correct provider.
const None Bug = ""

// Order, contents.
const (
	EventBeforeBytes  Bug = "the bytes of a write-with-imm arrive after its event"
	ReadOvertakes     Bug = "a read does not see the write posted before it"
	WordBeforeBytes   Bug = "a word is seen before the bytes written before it"
	TornWord          Bug = "a written word arrives in two halves"
	TornLine          Bug = "a read copies a line in two halves"
	WriteRoundsUp     Bug = "a write touches bytes up to the next word"
	CompletionOrder   Bug = "completions come last in, first out"
	SignalsAll        Bug = "unsignaled requests complete"
	MixesPosts        Bug = "requests of concurrent calls are mixed"
	PrivateDataCut    Bug = "the last byte of private data is lost"
	ReasonLost        Bug = "the reason of a refusal is lost"
	DialLate          Bug = "dial outlives its context"
	UnfairPoll        Bug = "poll prefers the queue pair made first"
	RegionNotZeroed   Bug = "a new region holds old bytes"
	AddressTakenTwice Bug = "two listeners share an address"
)

// Errors.
const (
	NoBoundsCheck     Bug = "a remote range is cut to the region"
	PartialWrite      Bug = "a refused write changes what lies inside"
	NoAccessCheck     Bug = "remote access rights are not looked at"
	StaleKeyWorks     Bug = "a closed region can still be used"
	NoLocalWriteCheck Bug = "a read may change any local region"
	NoLocalBounds     Bug = "a local range is cut to the region"
	UnsignaledLost    Bug = "unsignaled requests are not flushed"
	NoFlush           Bug = "nothing outstanding is flushed"
	FailureUntold     Bug = "a failed queue pair has no receive completion"
	FailureToldTwice  Bug = "a failed queue pair has two receive completions"
	PeerNotFailed     Bug = "the peer's queue pair outlives a failure"
	BystandersFail    Bug = "one failure fails all queue pairs of the device"
	PostAfterFailure  Bug = "post succeeds on a failed queue pair"
	DeathUnnoticed    Bug = "a dead peer is not noticed"
	RevokeForgotten   Bug = "a revoked region can still be used"
	RevokeTooEarly    Bug = "a write that has begun changes a revoked region, and succeeds"
)

// Queues and waiting.
const (
	EventLost       Bug = "events beyond the receive depth are dropped"
	NoBackPressure  Bug = "the receive depth is not looked at"
	NoSendLimit     Bug = "the send depth is not looked at"
	RestLost        Bug = "requests beyond the depth are taken and dropped"
	WakeForgotten   Bug = "a wake without a waiter is forgotten"
	WakeUpLost      Bug = "one in fifty completions does not wake"
	TimeoutEarly    Bug = "wait ends at half its timeout"
	ContextIgnored  Bug = "wait does not look at its context"
	CloseKeepsWait  Bug = "close leaves a waiter asleep"
	EventAfterClose Bug = "completions outlive their queue pair's close"
	GoroutineLeft   Bug = "a closed queue pair leaves a goroutine"
)
