// Package report turns measurements into plots and documents: report.html
// with everything in one file, report.md with the plots as files beside it.
//
// A Document has sections of text, tables and Plots; Write puts them into a
// directory, with contents at the top. Plots look alike in all reports: a
// series has a colour, dashes and a mark of its own, found by its name in
// the one table of looks.go, so a print without colour can be read as well.
// What was simulated says so in the title of its plot, in the legend and in
// the name of its file, and what the paper prints is drawn as hollow marks;
// Write sees to it.
//
// Functions may be called at the same time; what they are given must not be
// changed meanwhile.
package report
