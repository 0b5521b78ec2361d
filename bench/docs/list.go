package docs

// Benchmarks are the sections of the page, in this order. Each command is run
// with the flags that Sizes adds; {clients} makes one command for each number
// of clients.
var Benchmarks = []Benchmark{
	{
		Name: "small", Title: "Small searches over shared memory", Kind: Runs, Figure: true,
		Text: "Uniform rectangles, searches of scale 1e-5, which find nothing or one object." +
			" Each client makes one call at a time.",
		Commands: []string{
			"catfish bench run --scheme tcp,fast,offload,offload-cached,paper,cost --scale 1e-5" +
				" --transport shm --clients {clients} --in-flight 1",
		},
	},
	{
		Name: "wide", Title: "Wide searches over shared memory", Kind: Runs,
		Text: "The same objects, searches of scale 1e-2, which find some 51 objects.",
		Commands: []string{
			"catfish bench run --scheme tcp,fast,offload,offload-cached,paper,cost --scale 1e-2" +
				" --transport shm --clients {clients} --in-flight 1",
		},
	},
	{
		Name: "callers", Title: "Many callers on a connection", Kind: Runs,
		Text: "8 clients with 16 calls under way each: the server's core is busy, and what one scheme" +
			" can do at most is what counts.",
		Commands: []string{
			"catfish bench run --scheme tcp,fast-polling,fast,offload-single,offload,offload-cached,paper,cost" +
				" --scale 1e-5 --transport shm --clients 8 --in-flight 16",
		},
	},
	{
		Name: "inserts", Title: "With inserts", Kind: Runs,
		Text: "One call in ten inserts an object. Writes go by messages in every scheme; a search starts again" +
			" when an object was moved between two of its reads.",
		Commands: []string{
			"catfish bench run --scheme tcp,fast,offload,offload-cached,paper,cost --scale 1e-5" +
				" --mix search=90,insert=10 --inserts data --transport shm --clients 8 --in-flight 16",
		},
	},
	{
		Name: "nearest", Title: "The ten nearest", Kind: Runs,
		Commands: []string{
			"catfish bench run --scheme tcp,fast,offload,offload-cached,cost --mix nearest=100" +
				" --transport shm --clients 8 --in-flight 16",
		},
	},
	{
		Name: "batches", Title: "Many searches in one call", Kind: Runs,
		Text: "SearchMany with 64 searches to a call, and one by one. Calls/s are searches/s here;" +
			" a search of a batch takes as long as its call.",
		Commands: []string{
			"catfish bench run --scheme fast,offload-cached --scale 1e-5 --transport shm" +
				" --clients 8 --in-flight 1 --batch 64",
			"catfish bench run --scheme fast,offload-cached --scale 1e-5 --transport shm" +
				" --clients 8 --in-flight 1 --batch 1",
		},
	},
	{
		Name: "soft", Title: "Over the software RNIC", Kind: Runs,
		Text: "TCP on loopback, where the server's own core does the work of its card: an offloaded search" +
			" costs the server more than a message. It shows the software, not the idea.",
		Commands: []string{
			"catfish bench run --scheme tcp,fast,offload,offload-cached,paper,cost --scale 1e-5" +
				" --transport soft --clients 8 --in-flight 16",
		},
	},
	{
		Name: "idle", Title: "Idle connections", Kind: Idles,
		Text: "What each connection takes of a process, and how much of one core all of them: first nothing happens," +
			" then one of the clients searches a hundred times a second, so that the server sends heartbeats. Memory is" +
			" what is resident after a collection of garbage, with pages that server and client share; the kernel's own," +
			" for sockets, is not in it. Here a process may have 20,000 descriptors, which bounds the connections.",
		Commands: []string{
			"catfish bench idle --transport shm --clients {local}",
			"catfish bench idle --transport soft,tcp --policy fast --clients {idle}",
		},
	},
	{
		Name: "load", Title: "Loading", Kind: Loads,
		Text: "At once, which includes making the objects and the start of the server, and by insertion from one" +
			" client in batches.",
		Commands: []string{
			"catfish replay --data uniform --queries 1e-5 --scheme fast --transport shm --bulk",
			"catfish replay --data uniform --queries 1e-5 --scheme fast --transport shm",
		},
	},
	{
		Name: "tree", Title: "The tree alone, beside tidwall/rtree", Kind: Trees,
		Text: "In one process, on one core, the same bytes for both. The last columns are ratios of times within" +
			" a round: the median, the least and the most. Below 1" +
			" ours is better where the unit is a time or bytes.",
		Commands: []string{
			"make bench-tree PEERS=tidwall BENCH='data=uniform,andorra op=insert,delete,search,nearest,load'",
		},
	},
}
