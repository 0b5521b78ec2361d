// What the server answers with, as far as the page uses it (docs/http.md).
import type { Feature, Geometry } from 'geojson';

export interface Link {
  href: string;
  rel: string;
  type?: string;
  title?: string;
}

/** West, south, east, north in degrees; west greater than east: across 180 degrees. */
export type BBox = [number, number, number, number];

export interface Collection {
  id: string;
  title?: string;
  description?: string;
  /** Whose data it is, as text. */
  attribution?: string;
  extent?: { spatial: { bbox: BBox[] } };
  links: Link[];
  itemCount?: number;
}

export type Properties = Record<string, unknown>;

/** A feature; one of nearest has its distance in metres. */
export interface Place extends Feature<Geometry | null, Properties | null> {
  id: string;
  distance?: number;
}

export interface Page {
  features: Place[];
  links: Link[];
  numberMatched?: number;
  numberReturned?: number;
}

/** JSON types that values of a property have. */
export type Queryables = Map<string, string[]>;

/** A feature and the state that it has, for If-Match. */
export interface State {
  place: Place;
  etag: string;
}
