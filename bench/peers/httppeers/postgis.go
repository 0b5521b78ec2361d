//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/paulmach/orb/encoding/ewkb"

	"github.com/catfish-index/catfish/bench/peers/postgres"
	"github.com/catfish-index/catfish/internal/places"
)

// PostGIS
//
// A PostgreSQL of its own, in a temporary directory, on a unix socket. All
// data fits into shared_buffers; no request waits for the disk.

// postgresSettings are the differences from Debian's defaults.
var postgresSettings = []string{
	"listen_addresses=", "max_connections=40", "shared_buffers=1GB", "work_mem=32MB", "maintenance_work_mem=256MB",
	"max_wal_size=4GB", "fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off",
	// For short searches on one core: no plan of several processes, no
	// compiler, and no new plan for each box. By default PostgreSQL makes some,
	// as costs are similar.
	"max_parallel_workers_per_gather=0", "jit=off", "random_page_cost=1.1", "plan_cache_mode=force_generic_plan",
}

// postgresDB is the database.
const postgresDB = "postgres"

// The tables. Unchanged text is fastest to return as GeoJSON; tiles need
// columns of parsed JSON, and the geometry in the tiles' projection.
const (
	postgisItems = `create extension if not exists postgis;
		create table places (id text primary key, geom geometry(Geometry, 4326) not null, properties json not null)`
	postgisFinish = `create index places_geom on places using gist (geom);
		cluster places using places_geom;
		create table tiled as select id, st_transform(geom, 3857) as geom, properties::jsonb as properties from places where $tiles;
		create index tiled_geom on tiled using gist (geom);
		cluster tiled using tiled_geom`
)

// programsOf finds PostgreSQL's programs, which Debian does not put into the path.
func programsOf(dir string) (string, error) {
	if dir == "" {
		all, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
		if err != nil || len(all) == 0 {
			return "", fmt.Errorf("%w: PostgreSQL (apt-get install postgresql-15-postgis-3)", errMissing)
		}
		dir = filepath.Dir(slices.Max(all))
	}
	if _, err := os.Stat(filepath.Join(dir, "postgres")); err != nil {
		return "", fmt.Errorf("%w: %w", errMissing, err)
	}
	return dir, nil
}

// startPostGIS makes a database, loads it and starts a handler.
func startPostGIS(ctx context.Context, s *setup) (_ *peer, err error) {
	p := handled("postgis")
	defer func() {
		if err != nil {
			err = withClosed(err, p)
		}
	}()
	dir := filepath.Join(s.dir, "postgis")
	if err := initPostGIS(ctx, p, s, dir); err != nil {
		return nil, err
	}
	if p.version, err = loadPostGIS(ctx, s, dir); err != nil {
		return nil, err
	}
	return p, startHandler(ctx, p, s, "postgis", dir)
}

// initPostGIS makes the files and starts the server, as a user that is not root.
func initPostGIS(ctx context.Context, p *peer, s *setup, dir string) error {
	programs, err := programsOf(s.cfg.postgres)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	p.push(func() error { return os.RemoveAll(dir) })
	server, err := postgres.Start(ctx, programs, dir, s.cfg.serverCPUs, append(postgresSettings, "unix_socket_directories="+dir)...)
	if err != nil {
		return err
	}
	p.push(func() error { return server.Stop(syscall.SIGINT) }) // a fast shutdown
	return server.AwaitAddr(ctx, "unix", filepath.Join(dir, ".s.PGSQL.5432"))
}

func postgresURL(dir string) string {
	return fmt.Sprintf("host=%s user=%s dbname=%s", dir, postgres.User, postgresDB)
}

// loadPostGIS fills the tables and returns the versions.
func loadPostGIS(ctx context.Context, s *setup, dir string) (version string, err error) {
	c, err := connectPostGIS(ctx, dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, c.Close(context.WithoutCancel(ctx))) }()
	if _, err := c.Exec(ctx, postgisItems); err != nil {
		return "", err
	}
	rows := stream(func(w *bufio.Writer) error { return copyPlaces(w, s.data.places) })
	defer rows.Close()
	if _, err := c.PgConn().CopyFrom(ctx, rows, "copy places from stdin"); err != nil {
		return "", err
	}
	finish := os.Expand(postgisFinish, func(string) string { return strconv.FormatBool(s.data.tiles) })
	if _, err := c.Exec(ctx, finish); err != nil {
		return "", err
	}
	if _, err := c.Exec(ctx, "vacuum (analyze, freeze)"); err != nil { // alone, not in a transaction
		return "", err
	}
	err = c.QueryRow(ctx, "select split_part(current_setting('server_version'), ' ', 1) || ', PostGIS ' || postgis_lib_version()").Scan(&version)
	return "PostgreSQL " + version, err
}

// connectPostGIS waits until the server accepts connections: its socket exists
// before.
func connectPostGIS(ctx context.Context, dir string) (*pgx.Conn, error) {
	for {
		c, err := pgx.Connect(ctx, postgresURL(dir))
		if err == nil {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// copyPlaces writes rows in the text format of COPY.
func copyPlaces(w *bufio.Writer, all []places.Place) error {
	for i := range all {
		p := &all[i]
		wkb, err := ewkb.Marshal(p.Geometry, 4326)
		if err != nil {
			return fmt.Errorf("place %s: %w", p.ID, err)
		}
		writeCopyText(w, p.ID)
		w.WriteByte('\t')
		w.WriteString(hex.EncodeToString(wkb))
		w.WriteByte('\t')
		writeCopyText(w, string(p.Properties))
		if err := w.WriteByte('\n'); err != nil {
			return err
		}
	}
	return nil
}

// writeCopyText writes text with COPY's special characters escaped.
func writeCopyText(w *bufio.Writer, s string) {
	for i := range len(s) {
		switch c := s[i]; c {
		case '\\':
			w.WriteString(`\\`)
		case '\t':
			w.WriteString(`\t`)
		case '\n':
			w.WriteString(`\n`)
		case '\r':
			w.WriteString(`\r`)
		default:
			w.WriteByte(c)
		}
	}
}

// postgis is the backend of a handler.
type postgis struct{ pool *pgxpool.Pool }

// postgisConns is how many connections the pool has: more only wait for the core.
const postgisConns = 8

func openPostGIS(ctx context.Context, dir string) (backend, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// pgx prepares each statement once for each connection.
	pool, err := pgxpool.New(ctx, postgresURL(dir)+fmt.Sprintf(" pool_max_conns=%d pool_min_conns=%d", postgisConns, postgisConns))
	if err != nil {
		return nil, err
	}
	return &postgis{pool}, nil
}

func (p *postgis) close() { p.pool.Close() }

// itemsSQL is the fastest of the tried queries: see docs/decisions/http-peers.md.
const itemsSQL = `select id, st_asgeojson(geom), properties::text from places
	where geom && st_makeenvelope($1, $2, $3, $4, 4326) limit $5`

func (p *postgis) items(ctx context.Context, dst []byte, b [4]float64, limit int) ([]byte, int, error) {
	rows, err := p.pool.Query(ctx, itemsSQL, b[0], b[1], b[2], b[3], limit)
	if err != nil {
		return dst, 0, err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		if n > 0 {
			dst = append(dst, ',')
		}
		// The raw values, of type text: this saves a copy.
		v := rows.RawValues()
		dst = append(dst, `{"type":"Feature","id":`...)
		dst = appendQuoted(dst, v[0])
		dst = append(dst, `,"geometry":`...)
		dst = append(dst, v[1]...)
		dst = append(dst, `,"properties":`...)
		dst = append(dst, v[2]...)
		dst = append(dst, '}')
	}
	return dst, n, rows.Err()
}

// appendQuoted appends an id as JSON: the measured ones need no escaping.
func appendQuoted(dst, id []byte) []byte {
	for _, c := range id {
		if c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return strconv.AppendQuote(dst, string(id))
		}
	}
	return append(append(append(dst, '"'), id...), '"')
}

// tileSQL has its constants in it, from which the margin follows: 64 of 4096 units.
const tileSQL = `with inside as (
		select st_asmvtgeom(geom, st_tileenvelope($1, $2, $3), 4096, 64, true) as geom, id, properties
		from tiled where geom && st_tileenvelope($1, $2, $3, margin => 64.0 / 4096))
	select st_asmvt(inside, 'places', 4096, 'geom') from inside where geom is not null`

func (p *postgis) tile(ctx context.Context, dst []byte, z, x, y int) ([]byte, error) {
	rows, err := p.pool.Query(ctx, tileSQL, z, x, y)
	if err != nil {
		return dst, err
	}
	defer rows.Close()
	for rows.Next() {
		dst = append(dst, rows.RawValues()[0]...)
	}
	return dst, rows.Err()
}
