// Package paper holds the experiments of "Catfish: Adaptive RDMA-enabled
// R-Tree for Low Latency and High Throughput" (ICDCS 2019) as data, runs them
// on one machine and compares the results with the paper's figures.
//
//	Experiment          the runs: panels x series x numbers of clients
//	  Panel             data, scale of the queries, mix
//	  Series            a scheme of package catfish: a line in a figure
//	Cell                one call of bench.Run: an experiment's series at one
//	                    panel, network, transport and number of clients
//	Point               the result of one series: a bench.Row and what
//	                    identifies it; a line of points.jsonl
//	MicroCell,          the same of figure 9, which is no workload of searches:
//	MicroPoint          a micro.Row over the bytes of a request, micro.jsonl
//	Number              a figure that the paper prints, to compare with
//
// Two figures of the paper that show one run, as throughput and as latency,
// are one Experiment. Runner runs the wanted cells that the Store lacks,
// Report makes a report.Document of all points, and Check tests the orderings
// that must hold on any machine. Predict simulates each Number with package
// sim instead.
//
// Assumptions where the paper is silent stand with each Experiment, and in
// docs/research/paper.md.
package paper
