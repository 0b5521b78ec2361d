// Package report turns measurements into plots and documents: report.html
// with everything in one file, report.md with the plots as files beside it.
//
// It knows nothing of schemes or figures. A Document has sections of text,
// tables and Plots; Write puts them into a directory. Plots are made to be
// printed without colour: each style of line has its own dashes and its
// own mark. What was simulated says so in the title of its plot, in the
// legend and in the name of its file; Write sees to it.
package report
