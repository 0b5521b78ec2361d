// Package lanes has the ways in which a primary's log may wait for its followers, over the
// rings of a group (package rings), and counts what each needs:
//
//	none      no followers
//	strict    asks for an answer to each write, and waits for it before the next one: the base
//	          line of HydraDB's figure 13
//	relaxed   HydraDB's RDMA logging, literally: a write is acknowledged when the card has
//	          written it; every 32nd asks for an answer
//	received  what groups do: each scan of the ring is acknowledged, unasked, and a write when
//	          the acknowledgement covers it; the next ones do not wait for that
//
// Strict and relaxed are not safe, and no server has them. Neither compares terms: a primary
// that was replaced continues. Relaxed acknowledges what no processor but its own has looked at, and a
// follower that fails to apply an entry discards all after it until it is asked; if the primary dies
// before it sends these again, acknowledged writes are lost (TestRelaxedLosesWrites).
//
// All is in one process, over real queue pairs. Latencies say what the ways cost relative to
// each other, and not what a network does; the counts are exact. With c clients, each with one
// write outstanding, the mean latency is c times the time of a write (Little's law).
package lanes
