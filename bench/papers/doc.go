// Package papers has the five papers that this project follows as data: each mechanism and
// experiment, and each number that they print, with what is here of it. docs/papers/README.md
// is made of that (`make papers`).
//
//	*.toml       a file for each paper: mechanisms, by section, and numbers
//	papers.go    reads them, and refuses what is incomplete
//	quoted.go    takes values from tables of other pages, so that no figure is written twice
//	page.go      makes the page
//
// Numbers of Catfish and of RFP are rows of pages that are made or measured by commands; a
// file names the page. Others are in the files, with the command that measures or simulates
// them.
package papers
