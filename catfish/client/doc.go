// Package client connects to Catfish servers.
//
// A search of boxes begins in search.go: Client.Search fills a query. The reads of all
// kinds of collections go on in read.go: run carries them out on the present session
// (sessions.go, session.go), and again on the next one if the connection breaks; byPath
// asks the kind's engine of package policy for the path.
//
// By fast messaging, message encodes the query (internal/wire) and calls the server
// through package fastmsg. By offloading, the query takes a read channel (channels.go),
// and package internal/rstar/remote walks the tree by RDMA Reads. If the walk does not end,
// because the tree changes too quickly, the search takes fast messaging. Places
// (featuresearch.go, featureoffload.go) and records (recordget.go) are found in the
// same two ways.
//
// A write (write.go) always takes fast messaging, and is repeated only if
// it was never sent, or refused because another member of the group is the primary, or if
// the group recognises the repetition (repeat.go).
//
// # Files
//
// Clients and connections:
//
//	client.go          Dial, Client, Collection, Close
//	options.go         Options; policy.go, filters.go: names of package policy and query
//	connection.go      keeps a client connected, and hands out sessions; pauses.go: back-off
//	repeat.go          names of writes, and how long they are sent again
//	calls.go           whether the server answers
//	members.go         finds the primary of a group, and leaves a member that is it no longer
//	lease.go           whether what was read from a member of a group counts
//	readfrom.go        a second session, with a secondary that features are read at
//	session.go         one connection to one incarnation of a server; sessions.go: the present one
//	devices.go         opens the device of a transport; socket.go: whose socket shm's is
//	tcpcaller.go       the paper's base line, over plain sockets
//	mailbox.go         where heartbeats arrive
//	restart.go         compares a server that has restarted with the one before
//	reopen.go          opens a collection again that another one replaced
//	shared.go          what clients of a process share: group, policy, read channels, devices
//
// Several groups that have one store together:
//
//	cluster.go          a connection to each group; clustermanage.go: collections; clusterstats.go
//	clustermap.go       requests by one map; groupmap.go: which group has an id
//	epochs.go           by which map a connection asks
//	clusterfeatures.go  places; clustersearch.go, clusterwatch.go
//	clusterrecords.go   records; clusterboxes.go, clusterboxwrite.go: boxes
//	slotload.go, boxsample.go         the bytes of each slot
//
// Reads and writes of all kinds of collections:
//
//	read.go            the attempts of a read, and its path; kind.go: the kinds
//	write.go           the attempts of a write, writes of boxes, Stats
//	channels.go        a session's read channels; channelpool.go: those of all sessions
//	manage.go          lists, creates and drops collections; swap.go, backup.go, describe.go
//	errors.go          RetrySafe; package model has the errors; version.go: of the protocol
//	counters.go        what a client has done; explain.go: what one search did
//	hooks.go           for tests of this module
//
// Boxes:
//
//	search.go          Search, Count; nearest.go; estimate.go, for the policy
//	many.go            SearchMany: many searches at once
//	load.go            Load: many insertions at once; boxes.go: CreateBoxes
//
// Places, whose methods model.Features calls:
//
//	features.go            Client.Features; featureopen.go: where the tree is
//	featuresearch.go       Search, Count, Nearest by message
//	featureoffload.go      Search by offloading; featurenear.go: Nearest
//	featureput.go          Put, Patch, Delete; featureupload.go: a feature larger than a message
//	featurewatchclient.go  Watch
//
// Records:
//
//	records.go            Client.Records, Get; recordget.go: both paths; recordscan.go: Scan
//	pointerfile.go        references that processes share
//	recordpointers.go     where records are, and the references that a client keeps; recordlease.go: those that answers bring
//	recordput.go          Put, Append, Delete; recordawait.go: WaitFor; recordlargeclient.go: a value larger than a message
//	recordshards.go       collections that are divided; lanes.go: a connection to each owner
package client
