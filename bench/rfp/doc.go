// Package rfp sets the figures of "RFP: A Remote Fetching Paradigm for
// RDMA-Accelerated Systems" (Su et al., https://arxiv.org/abs/1512.07805) beside
// simulated ones, and simulates where answers that clients fetch pay for Catfish.
// Nothing here is measured.
//
//	Predict   all tables: the paper's numbers, and what goes beyond them
//	Table     compares printed with simulated, or has simulated columns
//	Write     the tables as Markdown, the page docs/papers/rfp-simulated.md
//
// Package sim has the model; services.go says what services it simulates and
// what they cost, numbers.go what the paper prints and why some of it does not come
// out, beyond.go what is of services like Catfish.
package rfp
