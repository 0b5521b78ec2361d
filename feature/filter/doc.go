// Package filter is a placeholder.
package filter
