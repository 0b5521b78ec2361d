// Searches and their pages: in the view, near a point, in a drawn area.
import type { Client } from './api/client';
import type { BBox, Page } from './api/types';
import { all, intersects } from './cql';
import type { Corner } from './geo';
import type { MultiPolygon, Polygon } from 'geojson';

/** How many places are on a page of the list. */
export const pageSize = 50;

/** Where is searched. */
export type Where = { kind: 'view'; bbox: BBox } | { kind: 'near'; at: Corner; text: string } | { kind: 'area'; area: Polygon | MultiPolygon };

/** Where a search is, for people. */
export function whereText(where: Where, filter: string): string {
  const place = { view: 'In this area', near: where.kind === 'near' ? where.text : '', area: 'In the drawn area' }[where.kind];
  return filter ? `${place}, with ${filter}` : place;
}

/** Asks for the first page. */
export function firstPage(client: Client, collection: string, where: Where, filter: string, signal: AbortSignal): Promise<Page> {
  switch (where.kind) {
    case 'view':
      return client.items(collection, { bbox: where.bbox, filter, limit: pageSize }, signal);
    case 'area':
      return client.items(collection, { filter: all(intersects(where.area), filter), limit: pageSize }, signal);
    case 'near':
      return client.nearest(collection, [where.at[0], where.at[1]], pageSize, filter, signal);
  }
}

/** The position of the device, undefined: it is not to be had. */
export function position(): Promise<Corner | undefined> {
  return new Promise((resolve) => {
    if (!('geolocation' in navigator)) {
      resolve(undefined);
      return;
    }
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => resolve([coords.longitude, coords.latitude]),
      () => resolve(undefined),
      { timeout: 8000, maximumAge: 60_000 },
    );
  });
}
