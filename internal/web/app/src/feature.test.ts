import { expect, test } from 'vitest';
import { kindOf, namePropertyOf, titleOf, valueOf } from './feature';

test('what a feature is called, and what it is', () => {
  expect(titleOf({ id: 'n/1', properties: { name: 'Bar Sol' } })).toBe('Bar Sol');
  expect(titleOf({ id: 'n/1', properties: { name: ' ', ref: 7 } })).toBe('7');
  expect(titleOf({ id: 'n/1', properties: null })).toBe('n/1');
  const geometry = { type: 'Point' as const, coordinates: [0, 0] };
  expect(kindOf({ geometry, properties: { amenity: 'fast_food', building: 'yes' } })).toBe('fast food');
  expect(kindOf({ geometry, properties: { building: 'yes' } })).toBe('building');
  expect(kindOf({ geometry, properties: {} })).toBe('point');
  expect(kindOf({ geometry: null, properties: {} })).toBe('without a place');
  expect(namePropertyOf((n) => n === 'title')).toBe('title');
  expect(namePropertyOf(() => false)).toBeUndefined();
  expect(['a', 1, { x: [1] }].map(valueOf)).toEqual(['a', '1', '{"x":[1]}']);
});
