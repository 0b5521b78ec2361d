//go:build linux

package main

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/peers/postgres"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/rstar"
)

// searchFunc returns how many objects are in a rectangle.
type searchFunc func(ctx context.Context, r rstar.Rect) (int, error)

// server is a measured program.
type server struct {
	name, title string
	program     string // "": not installed
	needs       string // how to get it
	points      bool   // it holds points
	start       func(ctx context.Context, b *bench, s *server) error
	connect     func(ctx context.Context, s *server) (search searchFunc, end func(), err error)

	addr, port, dir string
	*harness.Program
}

func servers(catfishProgram string) []*server {
	const build = "make build at the root of the repository"
	return []*server{
		{name: "catfish", title: "Catfish", program: onPath(catfishProgram), needs: build,
			start: startCatfish, connect: connectCatfish("default")},
		{name: "catfish-fast", title: "Catfish, messages only", program: onPath(catfishProgram), needs: build,
			start: startCatfish, connect: connectCatfish("fast")},
		{name: "redis", title: "Redis, GEOSEARCH", program: onPath("redis-server"), needs: "apt-get install redis-server",
			points: true, start: startRedis, connect: connectRESP(searchRedis)},
		{name: "postgis", title: "PostGIS, prepared, GiST", program: findPostGIS(), needs: "apt-get install postgresql-15-postgis-3",
			start: startPostGIS, connect: connectPostGIS},
		{name: "tile38", title: "Tile38, INTERSECTS, ids", program: onPath("tile38-server"),
			needs: "build tile38-server from github.com/tidwall/tile38 and put it on the PATH",
			start: startTile38, connect: connectRESP(searchTile38)},
	}
}

func onPath(name string) string { p, _ := exec.LookPath(name); return p }

func names() (all []string) {
	for _, s := range servers("") {
		all = append(all, s.name)
	}
	return all
}

// find returns the installed servers, and prints what the others need.
func find(only, catfishProgram string) (found []*server, err error) {
	wanted := strings.Split(only, ",")
	for _, n := range wanted {
		if only != "" && !slices.Contains(names(), n) {
			return nil, fmt.Errorf("server %q, want some of %s", n, strings.Join(names(), ","))
		}
	}
	for _, s := range servers(catfishProgram) {
		switch {
		case only != "" && !slices.Contains(wanted, s.name):
		case s.program == "":
			fmt.Fprintf(os.Stderr, "missing: %s (%s)\n", s.name, s.needs)
		default:
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is none to measure")
	}
	return found, nil
}

// run starts the program on the servers' core, and waits until ready says
// that it answers. PORT and DIR in args are replaced.
func (s *server) run(ctx context.Context, b *bench, ready func() error, args ...string) (err error) {
	for i, a := range args {
		args[i] = strings.NewReplacer("PORT", s.port, "DIR", s.dir).Replace(a)
	}
	if s.Program, err = harness.StartProgram(strconv.Itoa(b.server), nil, s.dir, args...); err != nil {
		return err
	}
	return s.Await(ctx, ready)
}

// stop ends it (SIGINT, for SIGTERM lets PostgreSQL wait for its sessions)
// and removes its files.
func (s *server) stop() {
	if s.Program != nil {
		_ = s.Stop(syscall.SIGINT)
	}
	os.RemoveAll(s.dir)
}

// place makes a directory and finds a free port.
func (s *server) place() (err error) {
	if s.addr, s.port, err = harness.FreeAddr(); err != nil {
		return err
	}
	s.dir, err = os.MkdirTemp("", "servers-")
	return err
}

func startCatfish(ctx context.Context, b *bench, s *server) error {
	program, err := filepath.Abs(s.program)
	if err != nil {
		return err
	}
	if err := s.place(); err != nil {
		return err
	}
	return s.run(ctx, b, func() error {
		_, end, err := s.connect(ctx, s)
		if err == nil {
			end()
		}
		return err
	}, program, "serve", "--listen", "127.0.0.1:PORT", "--transport", "shm", "--workers", "1",
		"--load", "uniform", "--objects", strconv.Itoa(b.objects), "--seed", strconv.Itoa(seed))
}

func connectCatfish(policy string) func(context.Context, *server) (searchFunc, func(), error) {
	return func(ctx context.Context, s *server) (searchFunc, func(), error) {
		c, err := catfish.Dial(ctx, s.addr, catfish.Options{
			Transport: catfish.TransportSHM, Policy: policy, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return nil, nil, err
		}
		var items []rstar.Item
		return func(ctx context.Context, r rstar.Rect) (_ int, err error) {
			items, err = c.SearchAppend(ctx, items[:0], r, 0)
			return len(items), err
		}, func() { c.Close() }, nil
	}
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func startRedis(ctx context.Context, b *bench, s *server) error {
	return startRESP(ctx, b, s, func(id string, r rstar.Rect) []string {
		return []string{"GEOADD", "objects", decimal((r.MinX + r.MaxX) / 2), decimal((r.MinY + r.MaxY) / 2), id}
	}, s.program, "--port", "PORT", "--bind", "127.0.0.1", "--dir", "DIR", "--save", "", "--appendonly", "no")
}

// kmPerDegree is Redis's: its Earth has a radius of 6372.797560856 km.
const kmPerDegree = 6372.797560856 * math.Pi / 180

func searchRedis(r rstar.Rect) []string {
	lat := (r.MinY + r.MaxY) / 2
	width := (r.MaxX - r.MinX) * kmPerDegree * math.Cos(lat*math.Pi/180)
	return []string{
		"GEOSEARCH", "objects", "FROMLONLAT", decimal((r.MinX + r.MaxX) / 2), decimal(lat),
		"BYBOX", decimal(width), decimal((r.MaxY - r.MinY) * kmPerDegree), "km",
	}
}

func startTile38(ctx context.Context, b *bench, s *server) error {
	return startRESP(ctx, b, s, func(id string, r rstar.Rect) []string {
		return []string{"SET", "objects", id, "BOUNDS", decimal(r.MinY), decimal(r.MinX), decimal(r.MaxY), decimal(r.MaxX)}
	}, s.program, "-h", "127.0.0.1", "-p", "PORT", "-d", "DIR", "--appendonly", "no")
}

// searchTile38 sets a limit: without one Tile38 stops at 100 objects.
func searchTile38(r rstar.Rect) []string {
	return []string{
		"INTERSECTS", "objects", "LIMIT", "1000000", "IDS",
		"BOUNDS", decimal(r.MinY), decimal(r.MinX), decimal(r.MaxY), decimal(r.MaxX),
	}
}

// findPostGIS returns PostgreSQL's program, of a version that has PostGIS.
func findPostGIS() string {
	found, _ := filepath.Glob("/usr/share/postgresql/*/extension/postgis.control")
	for _, control := range found {
		version := strings.Split(control, "/")[4]
		if p := onPath("/usr/lib/postgresql/" + version + "/bin/postgres"); p != "" {
			return p
		}
	}
	return ""
}

func startPostGIS(ctx context.Context, b *bench, s *server) error {
	if err := s.place(); err != nil {
		return err
	}
	var c *pgx.Conn
	var err error
	// In its favour: it keeps nothing on disk, all data fits in memory.
	if s.Program, err = postgres.Start(ctx, filepath.Dir(s.program), s.dir, strconv.Itoa(b.server), "listen_addresses=127.0.0.1", "port="+s.port,
		"unix_socket_directories=", "fsync=off", "shared_buffers=1GB", "maintenance_work_mem=512MB",
		"max_wal_size=8GB", "autovacuum=off", "jit=off"); err != nil {
		return err
	}
	if err := s.Await(ctx, func() (err error) { c, err = dialPostgres(ctx, s); return err }); err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, "CREATE EXTENSION postgis; CREATE TABLE raw (id int8, a float8, b float8, c float8, d float8)")
	if err != nil {
		return err
	}
	_, err = c.CopyFrom(ctx, pgx.Identifier{"raw"}, []string{"id", "a", "b", "c", "d"},
		pgx.CopyFromSlice(b.objects, func(i int) ([]any, error) {
			r := &b.rects[i]
			return []any{int64(i), r.MinX, r.MinY, r.MaxX, r.MaxY}, nil
		}))
	for _, sql := range []string{
		"CREATE TABLE objects AS SELECT id, ST_MakeEnvelope(a, b, c, d) AS geom FROM raw", "DROP TABLE raw",
		"CREATE INDEX ON objects USING gist (geom)", "VACUUM ANALYZE objects",
	} {
		if err == nil {
			_, err = c.Exec(ctx, sql)
		}
	}
	return err
}

func dialPostgres(ctx context.Context, s *server) (*pgx.Conn, error) {
	return pgx.Connect(ctx, "postgres://postgres@"+s.addr+"/postgres?sslmode=disable")
}

// connectPostGIS connects by pgx, which prepares the queries.
func connectPostGIS(ctx context.Context, s *server) (searchFunc, func(), error) {
	c, err := dialPostgres(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	const sql = "SELECT id FROM objects WHERE geom && ST_MakeEnvelope($1::float8, $2::float8, $3::float8, $4::float8)"
	return func(ctx context.Context, r rstar.Rect) (n int, err error) {
		rows, err := c.Query(ctx, sql, r.MinX, r.MinY, r.MaxX, r.MaxY)
		if err != nil {
			return 0, err
		}
		defer rows.Close()
		for rows.Next() {
			n++
		}
		return n, rows.Err()
	}, func() { c.Close(ctx) }, nil
}
