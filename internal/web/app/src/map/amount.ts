// How many places there are around a pointer, where the map shows them as heat.
import type { Position } from 'geojson';

/** Pixels around a pointer in which places are counted: about as far as their heat goes. */
export const around = 20;

/** A point of the collection's tiles. */
export interface Shown {
  geometry: { type: string; coordinates?: unknown };
  properties: Record<string, unknown> | null;
}

/** How many places points are. A cluster next to a border of tiles is in both. */
export function amount(points: readonly Shown[]): number {
  const clusters = new Map<string, number>();
  const places = new Set<string>();
  for (const { geometry, properties } of points) {
    const count = properties?.['point_count'];
    if (typeof count !== 'number') places.add(String(properties?.['id']));
    else clusters.set((geometry.coordinates as Position).map((v) => v.toFixed(6)).join(), count);
  }
  return [...clusters.values()].reduce((sum, n) => sum + n, places.size);
}

/** The amount for people. */
export function amountText(n: number): string {
  return `${n.toLocaleString('en')} places around here`;
}
