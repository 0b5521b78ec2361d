// Package model has what a client, a server and a program with a store of its own share:
// places, queries and events, the options and statistics of collections, and errors.
// Package catfish has the same names.
package model
