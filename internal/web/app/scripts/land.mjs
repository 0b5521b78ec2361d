// Land from TopoJSON, in which neighbours share their border, as vector tiles. They
// are cut here, once: cutting the world in each browser takes it longer than all else
// that it does until there is a map.
import { GeoJSONVT } from '@maplibre/geojson-vt';
import { fromGeojsonVt } from '@maplibre/vt-pbf';
import { feature, merge, mesh } from 'topojson-client';
import { deepest, pack, whereIs } from '../src/map/landpack.js';

/** Units of a tile's side. Those of the deepest are 150 m, finer than the land. */
const extent = 8192;
/** What may be left out of lines, in units: half a pixel of a tile 512 pixels wide. */
const tolerance = 8;

/** @returns the land as one shape, borders between countries, and their names */
export function landOf(topology) {
  const { countries } = topology.objects;
  const land = merge(topology, countries.geometries);
  return {
    land: { type: 'Feature', properties: {}, geometry: { type: 'MultiPolygon', coordinates: land.coordinates.map((p) => p.map(unroll)) } },
    borders: { type: 'Feature', properties: {}, geometry: mesh(topology, countries, (a, b) => a !== b) },
    labels: { type: 'FeatureCollection', features: feature(topology, countries).features.flatMap(labelOf) },
  };
}

/** @returns pairs of a file's name and bytes */
export function filesOf(layers) {
  const options = { maxZoom: deepest, indexMaxZoom: deepest, indexMaxPoints: 0, extent, buffer: extent / 64, tolerance };
  const cut = Object.entries(layers).map(([name, shapes]) => [name, new GeoJSONVT(shapes, options)]);
  const all = new Map();
  for (let z = 0; z <= deepest; z++) {
    for (let y = 0; y < 1 << z; y++) {
      for (let x = 0; x < 1 << z; x++) {
        const { file, at } = whereIs(z, x, y);
        if (!all.has(file)) all.set(file, []);
        all.get(file)[at] = tileOf(cut, z, x, y);
      }
    }
  }
  return [...all].map(([name, tiles]) => [name, pack(tiles)]);
}

/** A tile's bytes: none if nothing is there. */
function tileOf(cut, z, x, y) {
  const layers = {};
  for (const [name, index] of cut) {
    const tile = index.getTile(z, x, y);
    if (tile?.features.length) layers[name] = tile;
  }
  return Object.keys(layers).length === 0 ? new Uint8Array() : fromGeojsonVt(layers, { version: 2, extent });
}

/**
 * A ring that goes on beyond 180 degrees, as maps draw them. Those of the atlas are for
 * a sphere: they leave at one edge and come back at the other. One around a pole is
 * closed along it.
 */
export function unroll(ring) {
  let turn = 0;
  const out = ring.map(([lon, lat], i) => {
    const before = ring[i - 1]?.[0] ?? lon;
    if (lon - before > 180) turn -= 360;
    if (lon - before < -180) turn += 360;
    return [lon + turn, lat];
  });
  if (turn === 0) return out;
  const [first, last] = [out[0], out.at(-1)];
  const pole = first[1] < 0 ? -90 : 90;
  return [...out, [last[0], pole], [first[0], pole], first];
}

/** A name in the middle of a country's largest piece; an island may be left out. */
function labelOf({ geometry, properties }) {
  if (!geometry) return [];
  const pieces = geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates;
  let best = { size: 0, at: [0, 0] };
  for (const [ring] of pieces) {
    const c = centroidOf(unroll(ring));
    if (c.size > best.size) best = c;
  }
  if (best.size === 0) return [];
  return [{ type: 'Feature', geometry: { type: 'Point', coordinates: best.at }, properties: { name: properties.name, size: Math.round(best.size * 1000) } }];
}

/** Middle and size of a ring, as it would be on a sphere, roughly. */
function centroidOf(ring) {
  let [sum, x, y] = [0, 0, 0];
  for (let i = 1; i < ring.length; i++) {
    const [[ax, ay], [bx, by]] = [ring[i - 1], ring[i]];
    const cross = ax * by - bx * ay;
    sum += cross;
    x += (ax + bx) * cross;
    y += (ay + by) * cross;
  }
  if (sum === 0) return { size: 0, at: [0, 0] };
  const lat = y / (3 * sum);
  return { size: Math.abs(sum) * Math.cos((lat * Math.PI) / 180), at: [x / (3 * sum), lat] };
}
