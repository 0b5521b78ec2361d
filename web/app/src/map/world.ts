// The land behind the places: TopoJSON, in which neighbours share their border.
import type { Feature, FeatureCollection, MultiLineString, Point, Polygon, MultiPolygon, Position } from 'geojson';
import { feature, mesh } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import worldUrl from '../generated/world.json?url';

export type Countries = Topology<{ countries: GeometryCollection<{ name: string }> }>;

export interface World {
  land: FeatureCollection;
  /** Borders between countries; coasts are where land ends. */
  borders: MultiLineString;
  labels: FeatureCollection<Point>;
}

export async function loadWorld(): Promise<World> {
  const response = await fetch(worldUrl);
  if (!response.ok) throw new Error(`the land: status ${response.status}`);
  return worldOf((await response.json()) as Countries);
}

export function worldOf(topology: Countries): World {
  const land = feature(topology, topology.objects.countries) as FeatureCollection<Polygon | MultiPolygon, { name: string }>;
  for (const f of land.features) f.geometry = unrolled(f.geometry);
  return {
    land,
    borders: mesh(topology, topology.objects.countries, (a, b) => a !== b),
    labels: { type: 'FeatureCollection', features: land.features.flatMap(labelOf) },
  };
}

/**
 * A geometry whose rings go on beyond 180 degrees, as maps draw them. Those of the
 * atlas are for a sphere: they leave at one edge and come back at the other.
 */
function unrolled(g: Polygon | MultiPolygon): Polygon | MultiPolygon {
  if ((g as typeof g | null) === null) return g; // an island that was left out
  if (g.type === 'Polygon') return { ...g, coordinates: g.coordinates.map(unroll) };
  return { ...g, coordinates: g.coordinates.map((p) => p.map(unroll)) };
}

/** A ring without jumps. One around a pole is closed along it. */
export function unroll(ring: Position[]): Position[] {
  let turn = 0;
  const out = ring.map(([lon, lat], i): Position => {
    const before = ring[i - 1]?.[0] ?? lon!;
    if (lon! - before > 180) turn -= 360;
    if (lon! - before < -180) turn += 360;
    return [lon! + turn, lat!];
  });
  if (turn === 0) return out;
  const [first, last] = [out[0]!, out.at(-1)!];
  const pole = first[1]! < 0 ? -90 : 90;
  return [...out, [last[0]!, pole], [first[0]!, pole], first];
}

/** A name in the middle of a country's largest piece. */
function labelOf(f: Feature<Polygon | MultiPolygon | null, { name: string }>): Feature<Point>[] {
  if (!f.geometry) return [];
  const pieces = f.geometry.type === 'Polygon' ? [f.geometry.coordinates] : f.geometry.coordinates;
  let best = { size: 0, at: [0, 0] as Position };
  for (const [ring] of pieces) {
    const c = ring && centroidOf(ring);
    if (c && c.size > best.size) best = c;
  }
  if (best.size === 0) return [];
  return [{ type: 'Feature', geometry: { type: 'Point', coordinates: best.at }, properties: { name: f.properties.name, size: best.size } }];
}

/** Middle and size of a ring, as it would be on a sphere, roughly. */
function centroidOf(ring: Position[]): { size: number; at: Position } {
  let sum = 0;
  let x = 0;
  let y = 0;
  for (let i = 1; i < ring.length; i++) {
    const [ax, ay] = ring[i - 1] as [number, number];
    const [bx, by] = ring[i] as [number, number];
    const cross = ax * by - bx * ay;
    sum += cross;
    x += (ax + bx) * cross;
    y += (ay + by) * cross;
  }
  if (sum === 0) return { size: 0, at: [0, 0] };
  const lat = y / (3 * sum);
  return { size: Math.abs(sum) * Math.cos((lat * Math.PI) / 180), at: [x / (3 * sum), lat] };
}
