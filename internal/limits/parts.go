package limits

// What clients may hold of a server (docs/security.md). A Budget has the
// rule: a share for each host or process, a total for all, and the source that holds
// most makes room. The totals are parts of the memory limit (catfish.ServerOptions):
//
//	answers that wait, over rings and plain sockets,
//	and values of records that are put in parts        1/9
//	frames of soft that wait                           1/32
//	calls of gRPC, requests and tiles of HTTP          1/18
//	uploads over gRPC                                  1/8
//	connections of the TCP port at rest                1/12   96 KiB each
//	connections of shm at rest                         1/11  112 KiB each
//	                                            sum    0.50
//	rings, if their clients fill them                  1/2   576 KiB each,
//	                                                         832 KiB with policy fetch
//
// So half of the limit is left to trees, whatever clients hold. A ring takes the
// memory that was written to it, which for honest clients at rest is almost nothing: so
// rings and trees share that half. As rings may be filled at any time, the guard
// (catfish/server/memory.go) stops trees from growing while the rings could not be filled: with the
// default limit of 3/4 of the host, the host has only a third more than the limit.
//
// With 16 GiB the limit is 12 GiB: 10,922 clients with default rings, 10,213 of
// them over shm, 10,922 connections of the port. With 4 GiB the share of one
// source is the largest answer, 168 MB.
const (
	AnswersPart = 9
	UnsentPart  = 32
	CallsPart   = 18 // gRPC and HTTP share it
	UploadsPart = 8
	StreamsPart = 12
	ShmPart     = 11
	RingsPart   = 2
)
