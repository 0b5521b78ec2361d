// Package whole is the store of several groups (docs/decisions/many-groups.md), as HTTP, gRPC
// and tiles at any member ask it. Where there is one group, its types are those of package
// store, and cost nothing.
//
//	Collection --> Groups --> of the group itself      part.go, in this process
//	                    '---> of each other group      ask.go --stream between members--> serve.go, part.go
//
//	get, put, patch, delete                 the group of the id
//	search, count, nearest, describe ...    all groups that have any ids, at the same time
//	boxes                                   the group of the centre, or those that may have some in the area
//	create, alter, drop                     all groups, in order
//
// What is asked goes to the primaries. A group answers by the epoch of the map that the request
// names, or refuses with fault.ErrMoved; then, or if its primary is another by now, it is asked
// again for door.DefaultPatience, unless features were given already, or the outcome of a
// write is unknown. An answer of several groups counts if all of them have answered by one epoch, which is
// still that of this member.
//
// # Files
//
//	whole.go     Store, Collection: what a service sees
//	groups.go    Groups: maps, which groups are asked, and again
//	search.go    searches: pages in the order of ids, or streams in none; get.go: by id, and sums
//	boxes.go     boxes, which are in the group of their centre; boxpart.go: a group's part
//	put.go       writes, in batches for each group, and other changes
//	tiles.go     what tiles need; follow.go: events
//	part.go      what one group does, with cells.go and watch.go
//	request.go   requests and answers, with query.go and sample.go; as bytes: message.go, event.go
//	ask.go       asks another group; serve.go: answers another group
package whole
