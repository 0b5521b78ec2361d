// A map of another server under the places, if this server was given one
// (serve --http-basemap): index.html says which, and the page's policy allows it alone.
import type { RasterSourceSpecification } from 'maplibre-gl';

export interface Basemap {
  source: RasterSourceSpecification;
  /** Whose map it is. */
  credit: string;
}

/** The base map of the page; undefined: it has none. meta gives the content of an element by its name. */
export function basemapOf(meta: (name: string) => string | undefined): Basemap | undefined {
  const url = meta('basemap');
  if (!url) return undefined;
  const host = new URL(url.replace(/\{.*/, '')).host;
  return {
    source: { type: 'raster', tiles: [url], tileSize: 256, maxzoom: 19 },
    credit: meta('basemap-attribution') || host,
  };
}

export const basemap = basemapOf((name) => globalThis.document?.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content);
