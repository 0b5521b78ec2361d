// A feature for people: what it is called, what it is.
import type { Place, Properties } from './api/types';

const names = ['name', 'title', 'label', 'Name', 'NAME', 'name:en', 'ref'];
/** Properties that say what a thing is, the most telling first. */
const kinds = [
  'amenity', 'shop', 'tourism', 'leisure', 'office', 'craft', 'historic', 'highway', 'railway', 'aerialway', 'waterway', 'natural',
  'place', 'landuse', 'building', 'barrier', 'power', 'man_made', 'boundary', 'kind', 'type', 'class', 'category',
];

/** The property that features of a collection are called by; undefined: none is known. */
export function namePropertyOf(has: (name: string) => boolean): string | undefined {
  return names.find(has);
}

/** What a feature is called: its name, else its id. */
export function titleOf(place: Pick<Place, 'id' | 'properties'>): string {
  return textOf(place.properties, names)?.[1] ?? place.id;
}

/** What a feature is, such as "amenity: cafe"; else its geometry's type. */
export function kindOf(place: Pick<Place, 'properties' | 'geometry'>): string {
  const kind = textOf(place.properties, kinds);
  const type = place.geometry ? geometryText(place.geometry.type) : 'without a place';
  if (!kind) return type;
  const [name, value] = kind;
  return (value === 'yes' ? name : value).replaceAll('_', ' ');
}

export function geometryText(type: string): string {
  return { Point: 'point', MultiPoint: 'points', LineString: 'line', MultiLineString: 'lines', Polygon: 'area', MultiPolygon: 'areas' }[type] ?? 'mixed';
}

function textOf(properties: Properties | null, of: string[]): [string, string] | undefined {
  for (const name of of) {
    const value = properties?.[name];
    if (typeof value === 'string' && value.trim() !== '') return [name, value];
    if (typeof value === 'number') return [name, String(value)];
  }
  return undefined;
}

/** A value as text: texts as they are, all else as JSON. */
export function valueOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
