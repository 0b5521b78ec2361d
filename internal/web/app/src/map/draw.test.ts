import { expect, test } from 'vitest';
import { mostCorners, Shape } from './draw';

test('a point has one corner, which moves', () => {
  const s = new Shape('Point');
  expect(s.problem()).toBe('Set the point first.');
  s.add([1, 2]);
  s.add([361, 3]);
  expect(s.problem()).toBeUndefined();
  expect(s.geometry()).toEqual({ type: 'Point', coordinates: [1, 3] });
});

test('an area needs three corners that do not cross', () => {
  const s = new Shape('Polygon');
  s.add([0, 0]);
  expect(s.problem()).toBe('Set 2 more corners.');
  s.add([2, 2]);
  s.add([2, 2]); // the second click of a double one
  expect(s.problem()).toBe('Set 1 more corner.');
  s.add([2, 0]);
  expect(s.problem()).toBeUndefined();
  s.add([0, 2]);
  expect(s.problem()).toContain('cross');
  s.undo();
  expect(s.geometry().type).toBe('Polygon');
});

test('a line, and its preview', () => {
  const s = new Shape('LineString');
  s.add([0, 0]);
  expect(s.preview([1, 1]).map((f) => f.geometry.type)).toEqual(['Point', 'LineString']);
  s.add([1, 0]);
  expect(s.geometry()).toEqual({ type: 'LineString', coordinates: [[0, 0], [1, 0]] });
});

test('corners are bounded', () => {
  const s = new Shape('LineString');
  for (let i = 0; i < mostCorners + 9; i++) s.add([i / 1000, 0]);
  expect(s.corners.length).toBe(mostCorners);
});
