// Package places reads files of places.
package places
