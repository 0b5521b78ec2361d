import { expect, test } from 'vitest';
import { amount, type Shown } from './amount';

const cluster = (at: [number, number], n: number): Shown => ({ geometry: { type: 'Point', coordinates: at }, properties: { cluster: true, point_count: n } });
const place = (id: string): Shown => ({ geometry: { type: 'Point', coordinates: [0, 0] }, properties: { id } });

test('places around a pointer are counted once, though tiles overlap', () => {
  expect(amount([])).toBe(0);
  expect(amount([cluster([1, 2], 30), cluster([1, 2], 30), cluster([1.5, 2], 12), place('a'), place('b'), place('a')])).toBe(44);
});
