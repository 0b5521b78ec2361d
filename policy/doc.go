// Package policy decides which way a search goes: the Engine asks a Policy
// before the searches of a client, and observes what they cost, on a clock
// that is handed in. Clients, the simulator and the tests run this same code.
package policy
