// Package report turns measurements into plots and documents: report.html
// with everything in one file, report.md with the plots as files beside it.
//
// A Document has sections of text, tables and Plots; Write puts them into a
// directory, with contents at the top. Plots look alike in all reports: a
// series has a colour, dashes and a mark of its own, found by its name in the
// one table of looks.go, so a print without colour can be read as well.
// Simulated values are marked in the title of their plot, in the legend and in
// the name of the file, and the paper's values are drawn as hollow marks;
// Write ensures both.
//
// Functions may be called concurrently; their arguments must not change
// meanwhile.
package report
