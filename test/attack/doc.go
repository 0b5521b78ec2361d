// Package attack attacks a running server as a hostile or broken client would,
// and measures the effect on other clients.
//
//	                 +-- honest clients ---- know every answer beforehand
//	this process ----+-- new clients ------- dial again and again
//	                 +-- samples ----------- memory, descriptors, log, budgets
//	     |
//	     +-- catfish serve                   the server, a child
//	     +-- attackers                       a child for each attack
//
// Each attacker is a separate process, with the lowest priority, because the
// server distinguishes peers by process and by host: over TCP they connect from
// 127.0.0.2 and beyond, unless they must share the honest clients' host. An
// attacker that must break the protocol uses the raw protocols (raw.go,
// ring.go).
//
// A measurement has these parts: the honest clients alone, beside what the
// attackers have prepared, then beside the attack, and after it, when what it took
// must be given back. Row has the results, and Row.Broken the promises that do not
// hold. In tests the attacks are small and nothing is judged by time.
//
// Reading order: target, raw and ring (the protocols), attack and the files of
// attacks (long, unread, fetched, silent, malformed, upload, stopped; rawrecords and
// records; features; web, and those that begin with web), child (the attackers'
// process), data, honest, honestrecords, honestfeatures and honestweb (the honest
// clients), server, run, row, summary, soak.
package attack
