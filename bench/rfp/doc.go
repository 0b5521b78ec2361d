// Package rfp compares the figures of "RFP: A Remote Fetching Paradigm for
// RDMA-Accelerated Systems" (Su et al., https://arxiv.org/abs/1512.07805) with
// simulated ones, and simulates where fetched answers pay for Catfish. Nothing
// here is measured.
//
//	Predict   all tables: the paper's numbers, and what goes beyond them
//	Table     compares printed with simulated, or has simulated columns
//	Write     the tables as Markdown, the page docs/papers/rfp-simulated.md
//
// Package sim has the model; services.go has the simulated services and their
// costs, numbers.go the paper's numbers and why some of them are missed,
// beyond.go the tables about services like Catfish.
package rfp
