module github.com/catfish-index/catfish/bench/peers

go 1.26.0

replace github.com/catfish-index/catfish => ../..

require (
	github.com/catfish-index/catfish v0.0.0-00010101000000-000000000000
	github.com/peterstace/simplefeatures v0.50.0
	github.com/tidwall/rtree v1.10.0
	golang.org/x/sys v0.49.0
)

require (
	github.com/paulmach/orb v0.14.0 // indirect
	github.com/tidwall/geoindex v1.7.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
