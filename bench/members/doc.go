// Package members runs a group of servers as processes of this machine: a coordinator and
// members, each 'catfish serve'. Processes may be in network namespaces of their own.
//
//	this process                       processes, at places
//	  StartCoordinator  ------------>  0: coordinator
//	  StartMember       ------------>  1: n1, 2: n2, ...
//	  Status, Command   ------------>  'catfish cluster ...' beside the coordinator
package members
