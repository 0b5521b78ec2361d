// Makes src/generated/land, the land behind the places: Natural Earth's countries of
// 1:10m (public domain, as package world-atlas has them), of which detail below some
// 12 km2 and smaller islands are left out, cut into vector tiles. The same package
// gives the same bytes.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { quantize } from 'topojson-client';
import { filter, filterWeight, presimplify, simplify, sphericalRingArea, sphericalTriangleArea } from 'topojson-simplify';
import { filesOf, landOf } from './land.mjs';

/** In steradians: 3e-7 of them are 12 km2 on a sphere of 6371 km. */
const leastArea = 3e-7;
/** Steps of longitude and latitude: of some 200 m. */
const steps = 2e5;

const from = createRequire(import.meta.url).resolve('world-atlas/countries-10m.json');
const atlas = JSON.parse(readFileSync(from, 'utf8'));
delete atlas.objects.land;

let world = simplify(presimplify(atlas, sphericalTriangleArea), leastArea);
world = quantize(filter(world, filterWeight(world, leastArea, sphericalRingArea)), steps);
const folder = new URL('../src/generated/land/', import.meta.url);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const [name, bytes] of filesOf(landOf(world))) writeFileSync(new URL(`${name}.bin`, folder), bytes);
