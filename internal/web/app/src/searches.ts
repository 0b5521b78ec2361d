// Searches and their pages: in the view, near a point, in a drawn area.
import type { Client } from './api/client';
import { Problem } from './api/problem';
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

/**
 * Asks for the first page. An area is part of the filter: parameter bbox finds features
 * without a geometry, too, which no map shows.
 */
export function firstPage(client: Client, collection: string, where: Where, filter: string, signal: AbortSignal): Promise<Page> {
  switch (where.kind) {
    case 'view':
    case 'area':
      return client.items(collection, { filter: inArea(where, filter), limit: pageSize }, signal);
    case 'near':
      return client.nearest(collection, [where.at[0], where.at[1]], pageSize, filter, signal);
  }
}

/** What people wrote comes first: problemIn knows where it is. */
function inArea(where: Where & { kind: 'view' | 'area' }, filter: string): string {
  return all(filter, intersects(where.kind === 'view' ? where.bbox : where.area));
}

/** A problem with the whole filter as one of what people wrote of it, in which columns are others. */
export function problemIn(problem: Problem, where: Where, filter: string): Problem {
  if (where.kind === 'near' || problem.column === undefined) return problem;
  const column = problem.column - 1; // a parenthesis
  const there = column >= 1 && column <= [...filter].length + 1;
  return new Problem(problem.status, problem.message, problem.parameter, there ? column : undefined, problem.retryAfter);
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
