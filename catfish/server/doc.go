// Package server serves collections of boxes, records and places, to clients on every
// transport and to its own process. Open has places in this process without a server.
//
// A request comes to a worker (worker.go) through package fastmsg, or by a plain socket
// (tcpserver.go). The worker hands it to service.go, or several that are ready at once
// to batch.go. request.go decodes and checks it, the collection answers, and record.go
// notes it if the server records. A request that takes long, or waits for a commit, is a
// task, which replies later (task.go, steps.go).
//
// # Files
//
// Connections, and what clients may hold:
//
//	server.go       NewServer, Serve, Close; options.go; ready.go; names.go, hooks.go
//	mux.go          the TCP port; ticket.go: keys that are shown there; fabric.go: each transport
//	socket*.go      shm's socket; slab.go: the registered memory of collections
//	peer.go         a client's connection; access.go: who may do what
//	budgets.go, memory.go, streambounds.go   what clients may hold
//	meter.go        requests by kind; serverload.go, cputime_*.go, descriptors_*.go: the load
//	stats.go        Stats; storemap.go: of several groups; record.go, recordfrom.go: the recording of requests
//	member.go       a server in a group; cluster.go: a group of several; clusterboxes.go: its boxes
//	slotload.go, boxsample.go     how many bytes each slot has
//
// The way of a request:
//
//	worker.go       a worker's handler; workers.go: all of them; workertask.go: its tasks
//	tcpserver.go    a plain socket; tcpwork.go, tcplater.go, tcpwriter.go: its tasks and answers
//	service.go      process: key, kind, answer; request.go: decodes those of boxes
//	batch.go        several that are ready at once
//	task.go         what is answered later; steps.go: large answers in steps
//	backup.go, swap.go, checks.go   of all kinds of collections
//	collection.go   names and collections; drop.go
//
// Boxes:
//
//	searchbatch.go  searches made together; scan.go, nearestscan.go: long ones
//	treewrite.go    writes in memory; boxes.go: of those that are kept
//
// Places:
//
//	featurecollection.go   creates and alters; featureservice.go: searches; featurebatch.go: together
//	featurewrites.go       puts, patches, deletions
//	featurewatchserver.go  watches; featurewatchset.go: those of a connection
//	local.go               Open: places without a server; localwatch.go
//
// Records:
//
//	recordcollection.go  creates; shards.go: which worker owns which
//	recordservice.go     requests; recordbatch.go: keys looked up together; recordgetbatch.go
//	recordlargeget.go, recordlargeput.go   values larger than a message
//	recordkept.go        records that are kept: writes that wait for the disk
//	recordawait.go       waits for a value
package server
