// Geometry in degrees of longitude and latitude. The map's longitudes go on beyond
// 180 degrees; the server's do not.
import type { Geometry, MultiPolygon, Polygon, Position } from 'geojson';
import type { BBox } from './api/types';

export type Corner = [lon: number, lat: number];

/** A longitude from -180 to 180. */
export function wrap(lon: number): number {
  return lon >= -180 && lon <= 180 ? lon : ((((lon + 180) % 360) + 360) % 360) - 180;
}

/** Degrees as exact as 1 cm. */
export function round(degrees: number): number {
  return Math.round(degrees * 1e7) / 1e7;
}

function clampLat(lat: number): number {
  return Math.max(-90, Math.min(90, lat));
}

/** The server's box of a view; one as wide as the world is all of it. */
export function bboxOfView(west: number, south: number, east: number, north: number): BBox {
  const [s, n] = [round(clampLat(south)), round(clampLat(north))];
  if (east - west >= 360) return [-180, s, 180, n];
  return [round(wrap(west)), s, round(wrap(east)), n];
}

/** Calls visit with each position of a geometry. */
function eachPosition(g: Geometry, visit: (p: Position) => void): void {
  if (g.type === 'GeometryCollection') {
    for (const part of g.geometries) eachPosition(part, visit);
    return;
  }
  const walk = (c: unknown): void => {
    if (!Array.isArray(c)) return;
    if (typeof c[0] === 'number') visit(c as Position);
    else for (const part of c) walk(part);
  };
  walk(g.coordinates);
}

/** The box of a geometry as it is drawn; undefined: it has no position. */
export function boxOf(g: Geometry | null): [Corner, Corner] | undefined {
  let box: [Corner, Corner] | undefined;
  if (g) {
    eachPosition(g, ([lon, lat]) => {
      if (lon === undefined || lat === undefined) return;
      box ??= [[lon, lat], [lon, lat]];
      box = [
        [Math.min(box[0][0], lon), Math.min(box[0][1], lat)],
        [Math.max(box[1][0], lon), Math.max(box[1][1], lat)],
      ];
    });
  }
  return box;
}

/** The box around what is up to some metres from a point. */
export function boxAround([lon, lat]: Corner, metres: number): BBox {
  const north = metres / 111_195;
  // Near a pole it is all around the world.
  const east = Math.min(180, north / Math.max(1e-9, Math.cos((lat * Math.PI) / 180)));
  return bboxOfView(lon - east, lat - north, lon + east, lat + north);
}

/** The middle of a geometry's box; undefined: it has none. */
export function middleOf(g: Geometry | null): Corner | undefined {
  const box = boxOf(g);
  return box && [(box[0][0] + box[1][0]) / 2, (box[0][1] + box[1][1]) / 2];
}

/** A geometry whose middle is elsewhere, as far as the poles let it. Altitudes stay. */
export function moveTo(g: Geometry, to: Corner): Geometry {
  const box = boxOf(g);
  const from = middleOf(g);
  if (!box || !from) return g;
  const dLon = to[0] - from[0];
  const dLat = Math.max(-90 - box[0][1], Math.min(90 - box[1][1], to[1] - from[1]));
  // Parts stay on one side of 180 degrees, unless the geometry lies over it.
  const turn = wrap(to[0]) - to[0];
  const move = (c: unknown): unknown => {
    if (!Array.isArray(c)) return c;
    if (typeof c[0] === 'number') return [round(wrap(c[0] + dLon + turn)), round((c[1] as number) + dLat), ...c.slice(2)];
    return c.map(move);
  };
  if (g.type === 'GeometryCollection') {
    const middle = from;
    return {
      ...g,
      geometries: g.geometries.map((part) => {
        const own = middleOf(part) ?? middle;
        return moveTo(part, [own[0] + dLon, own[1] + dLat]);
      }),
    };
  }
  return { ...g, coordinates: move(g.coordinates) } as Geometry;
}

/**
 * The polygon of drawn corners, counterclockwise (RFC 7946); over 180 degrees it is
 * cut there.
 */
export function polygonOf(corners: Corner[]): Polygon | MultiPolygon {
  const west = Math.min(...corners.map((c) => c[0]));
  // Corners may lie in any turn of the world: the westmost is in the first.
  const turn = wrap(west) - west;
  const ring = corners.map(([lon, lat]): Corner => [lon + turn, clampLat(lat)]);
  const pieces = [cut(ring, (lon) => lon <= 180, 180), cut(ring, (lon) => lon >= 180, 180).map(([lon, lat]): Corner => [lon - 360, lat])];
  const rings = pieces.filter((r) => r.length > 2 && area(r) !== 0).map((r) => [closed(r)]);
  if (rings.length === 1) return { type: 'Polygon', coordinates: rings[0]! };
  return { type: 'MultiPolygon', coordinates: rings };
}

/** The part of a ring on one side of a meridian (Sutherland and Hodgman). */
function cut(ring: Corner[], inside: (lon: number) => boolean, at: number): Corner[] {
  const out: Corner[] = [];
  ring.forEach((b, i) => {
    const a = ring[(i + ring.length - 1) % ring.length]!;
    if (inside(a[0]) !== inside(b[0])) out.push([at, a[1] + ((b[1] - a[1]) * (at - a[0])) / (b[0] - a[0])]);
    if (inside(b[0])) out.push(b);
  });
  return out;
}

function closed(ring: Corner[]): Corner[] {
  const r = ring.map(([lon, lat]): Corner => [round(lon), round(lat)]);
  if (area(r) < 0) r.reverse();
  return [...r, r[0]!];
}

/** Twice the area of a ring, positive: counterclockwise. */
function area(ring: Corner[]): number {
  return ring.reduce((sum, b, i) => {
    const a = ring[(i + ring.length - 1) % ring.length]!;
    return sum + (a[0] * b[1] - b[0] * a[1]);
  }, 0);
}

/** Whether edges of a ring meet other than in its corners: it has no inside then. */
export function crosses(corners: Corner[]): boolean {
  const n = corners.length;
  const side = (a: Corner, b: Corner, c: Corner): number => Math.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));
  for (let i = 0; i < n; i++) {
    for (let j = i + 2; j < n; j++) {
      if (i === 0 && j === n - 1) continue; // neighbours
      const [a, b, c, d] = [corners[i]!, corners[i + 1]!, corners[j]!, corners[(j + 1) % n]!];
      if (side(a, b, c) !== side(a, b, d) && side(c, d, a) !== side(c, d, b)) return true;
    }
  }
  return false;
}

/** A distance for people. */
export function distanceText(metres: number): string {
  if (metres < 995) return `${Math.round(metres)} m`;
  const km = metres / 1000;
  return `${km < 9.95 ? km.toFixed(1) : Math.round(km).toLocaleString('en')} km`;
}

/** A position for people. */
export function positionText([lon, lat]: Corner): string {
  const part = (v: number, plus: string, minus: string): string => `${Math.abs(v).toFixed(5)}° ${v < 0 ? minus : plus}`;
  return `${part(lat, 'N', 'S')}, ${part(wrap(lon), 'E', 'W')}`;
}
