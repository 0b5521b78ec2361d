// Package webclients tests the HTTP service of a real server, bin/catfish, by
// clients that others have made: GDAL's OAPIF driver, OWSLib, the linter of
// @redocly/cli, @mapbox/vector-tile, and QGIS. All is in tests with the build tag
// clients (make test-http), QGIS with clients and qgis (make test-qgis).
package webclients
