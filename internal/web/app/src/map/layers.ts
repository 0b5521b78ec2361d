// The layers of the map from the ground up: land, the collection's tiles, what was
// found, what changes, what is open, what is drawn.
import type { ExpressionSpecification, LayerSpecification } from 'maplibre-gl';
import type { Palette } from './palette';

/** Without a glyph server labels are drawn by the browser's own fonts. */
const font = ['system-ui', 'Roboto', 'Noto Sans', 'DejaVu Sans', 'sans-serif'];

const isType = (type: string): ExpressionSpecification => ['==', ['geometry-type'], type];
const isCluster: ExpressionSpecification = ['has', 'point_count'];
const count: ExpressionSpecification = ['to-number', ['get', 'point_count']];
const byZoom = (...stops: number[]): ExpressionSpecification => ['interpolate', ['exponential', 1.5], ['zoom'], ...stops] as unknown as ExpressionSpecification;

/** The deepest zoom that a map has. */
const deepestZoom = 22;
/**
 * Clusters are 8 pixels from each other at the zoom of their tile, and 16 before the next
 * one: what each spreads over grows with that, so that they are no lattice.
 */
const spread: ExpressionSpecification = ['interpolate', ['linear'], ['zoom'], ...Array.from({ length: deepestZoom }, (_, z) => [z, 17, z + 0.999, 34]).flat()] as unknown as ExpressionSpecification;
/**
 * What a point adds to the heat: clusters by the logarithm of their count, from 1 to
 * 10,000, and the less the smaller they are; single ones as given.
 */
const heatOf = (single: number): ExpressionSpecification => ['case', isCluster, ['interpolate', ['exponential', 1.3], ['ln', ['max', 1, count]], 0, 0.05, 9.2, 1], single];

/** Sources of GeoJSON that the page fills. */
export const overlays = ['found', 'live', 'selected', 'draw'] as const;
export type Overlay = (typeof overlays)[number];
type OverlayLayer = LayerSpecification & { source: Overlay };

/** The ground with a base map, whose pictures are toned down so that places stand out. */
export function basemapLayers(p: Palette): LayerSpecification[] {
  return [
    { id: 'water', type: 'background', paint: { 'background-color': p.land } },
    { id: 'basemap', type: 'raster', source: 'basemap', paint: { 'raster-saturation': p.basemap.saturation, 'raster-brightness-max': p.basemap.brightness } },
  ];
}

/** Zooms between which coasts fade. At 8 a pixel is some 200 m. */
const [coastly, coastless] = [8, 9.5];

export function groundLayers(p: Palette): LayerSpecification[] {
  return [
    // Coasts are exact to a kilometre or two: nearby they would put towns into the sea. So
    // water and land become one ground.
    { id: 'water', type: 'background', paint: { 'background-color': ['interpolate', ['linear'], ['zoom'], coastly, p.water, coastless, p.land] } },
    {
      id: 'land',
      type: 'fill',
      source: 'land',
      'source-layer': 'land',
      maxzoom: coastless,
      paint: { 'fill-color': p.land, 'fill-opacity': ['interpolate', ['linear'], ['zoom'], coastly, 1, coastless, 0] },
    },
    {
      id: 'borders',
      type: 'line',
      source: 'land',
      'source-layer': 'borders',
      // They are exact to some kilometres: nearby they would mislead.
      maxzoom: coastless,
      paint: { 'line-color': p.border, 'line-width': byZoom(1, 0.4, 6, 1.2), 'line-opacity': ['interpolate', ['linear'], ['zoom'], 7, 1, coastless, 0] },
    },
  ];
}

export function countryLabels(p: Palette): LayerSpecification {
  return {
    id: 'countries',
    type: 'symbol',
    source: 'land',
    'source-layer': 'labels',
    maxzoom: 8,
    layout: {
      'text-field': ['get', 'name'],
      'text-font': font,
      'text-size': ['interpolate', ['linear'], ['zoom'], 1, 9, 6, 14],
      'text-max-width': 7,
      'text-letter-spacing': 0.04,
      'symbol-sort-key': ['-', 0, ['get', 'size']],
      'text-padding': 6,
    },
    paint: { 'text-color': p.country, 'text-halo-color': p.land, 'text-halo-width': 1.2 },
  };
}

/**
 * The places that a filter leaves out: lines and outlines, faint, so that people see
 * where they are.
 */
export function contextLayers(p: Palette, layer: string): LayerSpecification[] {
  const source = { source: 'context', 'source-layer': layer };
  return [
    { id: 'context-outline', type: 'line', ...source, filter: isType('Polygon'), paint: { 'line-color': p.outline, 'line-width': 0.6, 'line-opacity': 0.3 } },
    { id: 'context-line', type: 'line', ...source, filter: isType('LineString'), paint: { 'line-color': p.line, 'line-width': byZoom(8, 0.5, 14, 1.2, 18, 3), 'line-opacity': 0.25 } },
  ];
}

/** How much there is where: a tile with too much to draw has clusters. */
export function heatLayer(p: Palette, layer: string): LayerSpecification {
  return {
    id: 'places-heat',
    type: 'heatmap',
    source: 'places',
    'source-layer': layer,
    filter: isType('Point'),
    paint: {
      // Nearby, single places speak for themselves.
      'heatmap-weight': ['interpolate', ['linear'], ['zoom'], 10, heatOf(0.035), 14, heatOf(0)],
      'heatmap-radius': spread,
      'heatmap-color': ['interpolate', ['linear'], ['heatmap-density'], ...p.heat.flat()] as unknown as ExpressionSpecification,
    },
  };
}

/** The collection's tiles. name is the property that features are called by. */
export function placeLayers(p: Palette, layer: string, name: string | undefined): LayerSpecification[] {
  const source = { source: 'places', 'source-layer': layer };
  const all: LayerSpecification[] = [
    {
      id: 'places-area',
      type: 'fill',
      ...source,
      filter: isType('Polygon'),
      // Areas lie on each other, a house in a quarter in a town: each adds little.
      // Edges are drawn as lines.
      paint: { 'fill-color': p.area, 'fill-antialias': false, 'fill-opacity': ['interpolate', ['linear'], ['zoom'], 9, 0.1, 15, 0.05] },
    },
    { id: 'places-outline', type: 'line', ...source, filter: isType('Polygon'), paint: { 'line-color': p.outline, 'line-width': byZoom(10, 0.4, 15, 0.9, 18, 1.6) } },
    {
      id: 'places-line',
      type: 'line',
      ...source,
      filter: isType('LineString'),
      layout: { 'line-cap': 'round', 'line-join': 'round' },
      paint: { 'line-color': p.line, 'line-width': byZoom(8, 0.5, 14, 1.6, 18, 4), 'line-opacity': 0.9 },
    },
    {
      id: 'places-point',
      type: 'circle',
      ...source,
      filter: ['all', isType('Point'), ['!', isCluster]],
      paint: {
        'circle-color': p.point,
        'circle-radius': byZoom(5, 1.6, 10, 2.8, 14, 3.6, 18, 6),
        // A tile with less to draw next to one with heat is not to look like more.
        'circle-opacity': ['interpolate', ['linear'], ['zoom'], 6, 0.4, 10, 1],
        'circle-stroke-color': p.ring,
        'circle-stroke-width': ['interpolate', ['linear'], ['zoom'], 9, 0, 15, 1.5],
      },
    },
    {
      id: 'places-cluster',
      type: 'circle',
      ...source,
      filter: isCluster,
      // It is there to be pointed at: the heat shows them.
      paint: { 'circle-opacity': 0, 'circle-radius': 8 },
    },
  ];
  if (name === undefined) return all;
  const layout = {
    'text-field': ['get', name] as ExpressionSpecification,
    'text-font': font,
    'text-size': ['interpolate', ['linear'], ['zoom'], 13, 10, 18, 13] as ExpressionSpecification,
  };
  const paint = { 'text-color': p.label, 'text-halo-color': p.halo, 'text-halo-width': 1.4 };
  all.push(
    {
      id: 'places-line-name',
      type: 'symbol',
      ...source,
      minzoom: 14.5,
      filter: isType('LineString'),
      layout: { ...layout, 'symbol-placement': 'line', 'symbol-spacing': 320 },
      paint,
    },
    {
      id: 'places-name',
      type: 'symbol',
      ...source,
      minzoom: 14.5,
      filter: ['all', ['!', isType('LineString')], ['!', isCluster]],
      layout: { ...layout, 'text-variable-anchor': ['top', 'bottom', 'left', 'right'], 'text-radial-offset': 0.6, 'text-max-width': 8, 'symbol-sort-key': ['case', isType('Point'), 0, 1] },
      paint,
    },
  );
  return all;
}

/** What the page itself has put on the map. */
export function overlayLayers(p: Palette): OverlayLayer[] {
  const shape = (source: Overlay, color: string, width: number, radius: number, fill: number): OverlayLayer[] => [
    { id: `${source}-area`, type: 'fill', source, filter: isType('Polygon'), paint: { 'fill-color': color, 'fill-opacity': fill } },
    {
      id: `${source}-line`,
      type: 'line',
      source,
      filter: ['!', isType('Point')],
      layout: { 'line-cap': 'round', 'line-join': 'round' },
      paint: { 'line-color': color, 'line-width': width },
    },
    {
      id: `${source}-point`,
      type: 'circle',
      source,
      filter: isType('Point'),
      paint: { 'circle-color': color, 'circle-radius': radius, 'circle-stroke-color': p.ring, 'circle-stroke-width': 1.5 },
    },
  ];
  return [
    ...shape('found', p.found, 1.6, 4.5, 0.12),
    {
      id: 'live-ring',
      type: 'circle',
      source: 'live',
      paint: {
        'circle-color': p.live,
        'circle-opacity': ['*', 0.25, ['get', 'left']],
        'circle-radius': ['+', 8, ['*', 16, ['-', 1, ['get', 'left']]]],
        'circle-stroke-color': p.live,
        'circle-stroke-width': 2,
        'circle-stroke-opacity': ['get', 'left'],
      },
    },
    ...shape('selected', p.selected, 3.5, 7.5, 0.25),
    ...shape('draw', p.draw, 2, 5, 0.12),
  ];
}
