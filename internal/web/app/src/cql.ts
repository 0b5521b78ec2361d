// CQL2 text: what the page writes of it, and what the filter box must understand of
// it to make suggestions. The server judges filters.
import type { MultiPolygon, Polygon, Position } from 'geojson';
import type { BBox } from './api/types';

/** A property's name as a filter has it: in double quotes unless it is an identifier. */
export function nameText(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !words.has(name.toUpperCase()) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** A value as a filter has it. */
export function valueText(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'boolean') return String(value).toUpperCase();
  return `'${String(value).replaceAll("'", "''")}'`;
}

/** Words of the language, which no name may be without quotes. */
export const words = new Set([
  'AND', 'OR', 'NOT', 'LIKE', 'IN', 'BETWEEN', 'IS', 'NULL', 'TRUE', 'FALSE', 'DATE', 'TIMESTAMP', 'POINT', 'POLYGON',
  'MULTIPOLYGON', 'BBOX', 'S_INTERSECTS', 'S_DISJOINT', 'S_WITHIN', 'S_CONTAINS', 'S_DWITHIN',
]);

/** The features that meet an area. */
export function intersects(area: BBox | Polygon | MultiPolygon): string {
  if (Array.isArray(area)) return `S_INTERSECTS(geometry,BBOX(${area.join(',')}))`;
  const ring = (r: Position[]): string => `(${r.map((p) => `${p[0]} ${p[1]}`).join(',')})`;
  const rings = (p: Position[][]): string => `(${p.map(ring).join(',')})`;
  const text = area.type === 'Polygon' ? `POLYGON${rings(area.coordinates)}` : `MULTIPOLYGON(${area.coordinates.map(rings).join(',')})`;
  return `S_INTERSECTS(geometry,${text})`;
}

/** A filter of all that hold; empty ones count for nothing. */
export function all(...filters: string[]): string {
  const some = filters.map((f) => f.trim()).filter((f) => f !== '');
  return some.length < 2 ? (some[0] ?? '') : some.map((f) => `(${f})`).join(' AND ');
}

export interface Token {
  kind: 'name' | 'text' | 'number' | 'sign';
  text: string;
  from: number;
  to: number;
  /** A quote that is open has no end yet. */
  open: boolean;
}

/** The tokens of a filter. Whatever is written, each character is in at most one. */
export function tokens(filter: string): Token[] {
  const pattern = /"(?:[^"]|"")*("?)|'(?:[^']|'')*('?)|[A-Za-z_][A-Za-z0-9_]*|[0-9]+(?:\.[0-9]*)?|<>|<=|>=|[^\s]/g;
  const found: Token[] = [];
  for (const m of filter.matchAll(pattern)) {
    const text = m[0];
    const first = text[0]!;
    const kind = first === "'" ? 'text' : first === '"' || /[A-Za-z_]/.test(first) ? 'name' : /[0-9]/.test(first) ? 'number' : 'sign';
    const open = (first === '"' && m[1] === '') || (first === "'" && m[2] === '');
    found.push({ kind, text, from: m.index, to: m.index + text.length, open });
  }
  return found;
}
