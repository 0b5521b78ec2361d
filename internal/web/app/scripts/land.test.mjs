import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import { expect, test } from 'vitest';
import { deepest, unpack, whereIs } from '../src/map/landpack.js';
import { filesOf, landOf, unroll } from './land.mjs';

const from = createRequire(import.meta.url).resolve('world-atlas/countries-110m.json');
const atlas = JSON.parse(readFileSync(from, 'utf8'));
const layers = landOf(atlas);
const files = new Map(filesOf(layers));

/** What a tile's layers have, through the files, as the page reads them. */
function tile(z, x, y) {
  const { file, at } = whereIs(z, x, y);
  return new VectorTile(new PbfReader(unpack(files.get(file).buffer, at))).layers;
}

test('a ring over 180 degrees has no jump', () => {
  expect(unroll([[170, 0], [-170, 0], [-170, 9], [170, 9], [170, 0]])).toEqual([[170, 0], [190, 0], [190, 9], [170, 9], [170, 0]]);
  expect(unroll([[-170, 0], [170, 0], [170, 9], [-170, 0]])).toEqual([[-170, 0], [-190, 0], [-190, 9], [-170, 0]]);
  expect(unroll([[1, 1], [2, 1], [2, 2], [1, 1]])).toEqual([[1, 1], [2, 1], [2, 2], [1, 1]]);
});

test('a ring around a pole is closed along it', () => {
  expect(unroll([[-120, -70], [0, -70], [120, -70], [-120, -70]])).toEqual([[-120, -70], [0, -70], [120, -70], [240, -70], [240, -90], [-120, -90], [-120, -70]]);
});

test('no land of the atlas jumps, and each name is where it is', () => {
  const rings = layers.land.geometry.coordinates.flat();
  expect(rings.length).toBeGreaterThan(100);
  for (const ring of rings) {
    ring.forEach(([lon], i) => {
      const along = ring[i][1] === -90; // the pole's edge is as long as the world
      if (i > 0 && !along) expect(Math.abs(lon - ring[i - 1][0])).toBeLessThan(180);
    });
  }
  expect(layers.labels.features.length).toBe(177);
  const at = (name) => layers.labels.features.find((f) => f.properties.name === name).geometry.coordinates;
  expect(at('Russia')[0]).toBeGreaterThan(60);
  expect(at('Russia')[0]).toBeLessThan(120);
  expect(at('France')[1]).toBeGreaterThan(42);
});

test('each tile has a place of its own, and no place is left', () => {
  const places = new Map([...files].map(([name, file]) => [name, new DataView(file.buffer).getUint32(0, true) / 4 - 1]));
  const seen = new Set();
  for (let z = 0; z <= deepest; z++) {
    for (let y = 0; y < 2 ** z; y++) {
      for (let x = 0; x < 2 ** z; x++) {
        const { file, at } = whereIs(z, x, y);
        expect(at).toBeLessThan(places.get(file));
        seen.add(`${file} ${at}`);
      }
    }
  }
  expect(seen.size).toBe([...places.values()].reduce((sum, n) => sum + n, 0));
});

test('tiles show what is there', () => {
  for (const [z, x, y] of [[0, 0, 0], [2, 2, 1], [3, 4, 2], [4, 8, 5], [5, 16, 11]]) {
    const { land, borders } = tile(z, x, y);
    expect(land.extent).toBe(8192);
    // Those over France and Germany have land from edge to edge, or much of it.
    expect(land.feature(0).loadGeometry().flat().length, `${z}/${x}/${y}`).toBeGreaterThan(3);
    expect(borders.length, `${z}/${x}/${y}`).toBe(1);
  }
  const names = (layer) => Array.from({ length: layer.length }, (_, i) => layer.feature(i).properties['name']);
  expect(names(tile(0, 0, 0).labels)).toContain('France');
  expect(names(tile(5, 16, 11).labels)).toEqual(['France', 'Switzerland']);
  // The middle of the southern Pacific.
  expect(tile(5, 3, 20)).toEqual({});
});
