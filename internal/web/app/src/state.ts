// What a link to the page says: collection, view, filter, feature. It is in the part
// of the address behind #, which browsers keep to themselves: no server's log has
// what somebody looked for.

export interface View {
  zoom: number;
  lat: number;
  lon: number;
}

export interface State {
  collection: string;
  view?: View | undefined;
  /** CQL2 text; empty: none. */
  filter: string;
  /** Id of the feature that is open; empty: none. */
  feature: string;
  panel: 'places' | 'engine';
}

export const start: State = { collection: '', filter: '', feature: '', panel: 'places' };

/** The state as the part of an address behind #. */
export function hashOf(s: State): string {
  const q = new URLSearchParams();
  if (s.collection) q.set('collection', s.collection);
  if (s.view) q.set('map', viewText(s.view));
  if (s.filter) q.set('filter', s.filter);
  if (s.feature) q.set('feature', s.feature);
  if (s.panel !== 'places') q.set('panel', s.panel);
  // A slash needs no escape here, and a link is easier to read with it.
  return '#' + q.toString().replaceAll('%2F', '/');
}

/** As exact as a pixel is: places of coordinates follow from the zoom. */
function viewText({ zoom, lat, lon }: View): string {
  const digits = Math.max(0, Math.ceil((zoom * Math.LN2 + Math.log(512 / 360)) / Math.LN10));
  return [zoom.toFixed(2), lat.toFixed(digits), lon.toFixed(digits)].join('/');
}

/** The state of an address. What cannot be read is left out. */
export function stateOf(hash: string): State {
  const q = new URLSearchParams(hash.replace(/^#/, ''));
  const view = viewOf(q.get('map') ?? '');
  return {
    collection: q.get('collection') ?? '',
    ...(view && { view }),
    filter: q.get('filter') ?? '',
    feature: q.get('feature') ?? '',
    panel: q.get('panel') === 'engine' ? 'engine' : 'places',
  };
}

function viewOf(text: string): View | undefined {
  const parts = text.split('/');
  const [zoom, lat, lon] = parts.map(Number);
  if (parts.length !== 3 || parts.includes('') || zoom === undefined || lat === undefined || lon === undefined) return undefined;
  const fits = zoom >= 0 && zoom <= 24 && Math.abs(lat) <= 90 && Math.abs(lon) <= 540;
  return fits ? { zoom, lat, lon } : undefined;
}
