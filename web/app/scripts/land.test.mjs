import { expect, test } from 'vitest';
import { unroll, worldOf, type Countries } from './world';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

test('a ring over 180 degrees has no jump', () => {
  expect(unroll([[170, 0], [-170, 0], [-170, 9], [170, 9], [170, 0]])).toEqual([[170, 0], [190, 0], [190, 9], [170, 9], [170, 0]]);
  expect(unroll([[-170, 0], [170, 0], [170, 9], [-170, 0]])).toEqual([[-170, 0], [-190, 0], [-190, 9], [-170, 0]]);
  expect(unroll([[1, 1], [2, 1], [2, 2], [1, 1]])).toEqual([[1, 1], [2, 1], [2, 2], [1, 1]]);
});

test('a ring around a pole is closed along it', () => {
  expect(unroll([[-120, -70], [0, -70], [120, -70], [-120, -70]])).toEqual([[-120, -70], [0, -70], [120, -70], [240, -70], [240, -90], [-120, -90], [-120, -70]]);
});

test('no country of the atlas jumps, and each has its name where it is', () => {
  const from = createRequire(import.meta.url).resolve('world-atlas/countries-110m.json');
  const { land, labels } = worldOf(JSON.parse(readFileSync(from, 'utf8')) as Countries);
  expect(land.features.length).toBe(177);
  for (const f of land.features) {
    const g = f.geometry;
    const polygons = g.type === 'Polygon' ? [g.coordinates] : g.type === 'MultiPolygon' ? g.coordinates : [];
    const rings = polygons.flat();
    expect(rings.length).toBeGreaterThan(0);
    for (const ring of rings) {
      ring.forEach(([lon], i) => {
        const along = ring[i]![1] === -90; // the pole's edge is as long as the world
        if (i > 0 && !along) expect(Math.abs(lon! - ring[i - 1]![0]!), String(f.properties?.['name'])).toBeLessThan(180);
      });
    }
  }
  const at = (name: string): number[] => labels.features.find((f) => f.properties?.['name'] === name)!.geometry.coordinates;
  expect(at('Russia')[0]).toBeGreaterThan(60);
  expect(at('Russia')[0]).toBeLessThan(120);
  expect(at('France')[1]).toBeGreaterThan(42);
});
