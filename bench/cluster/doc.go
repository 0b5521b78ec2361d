// Package cluster shows a group of servers that loses its primary: a coordinator and three
// members in processes of their own, with a map in them, clients that read on all paths, and
// writers. In the middle the primary is killed, later it starts again. In the end everything
// is read back.
//
//	this process                                   processes
//	  4 readers by message, 4 one-sided            coordinator
//	  2 readers over HTTP          ------------->  n1 (primary), n2, n3: 'catfish serve'
//	  2 writers of features, 1 of boxes
//
// Answers of reads are known beforehand, since no client changes the map; each feature and box
// that is written is written once.
package cluster
