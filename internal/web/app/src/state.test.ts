import { expect, test } from 'vitest';
import { hashOf, start, stateOf, type State } from './state';

test('a link has the state', () => {
  const all: State[] = [
    start,
    { ...start, collection: 'andorra', view: { zoom: 14.25, lat: 42.50631, lon: 1.52182 } },
    { ...start, collection: 'a b&c', filter: `name LIKE '%é #1%' AND x = "y z"`, feature: 'node/1+2', panel: 'engine' },
  ];
  for (const s of all) expect(stateOf(hashOf(s))).toEqual(s);
});

test('a view is as exact as a pixel', () => {
  const view = { zoom: 18, lat: 42.123456789, lon: 1.987654321 };
  const back = stateOf(hashOf({ ...start, view })).view!;
  const pixel = 360 / (512 * 2 ** view.zoom);
  expect(Math.abs(back.lat - view.lat)).toBeLessThan(pixel);
  expect(Math.abs(back.lon - view.lon)).toBeLessThan(pixel);
});

test('what cannot be read is left out', () => {
  for (const map of ['', '1/2', '1/2/3/4', 'x/1/1', '1//1', '99/1/1', '1/91/0', '1/0/NaN']) expect(stateOf(`#map=${map}`).view, map).toBeUndefined();
  expect(stateOf('#panel=cellar').panel).toBe('places');
  expect(stateOf('')).toEqual(start);
});
