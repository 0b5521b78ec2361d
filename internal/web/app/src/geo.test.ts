import { expect, test } from 'vitest';
import { bboxOfView, boxAround, boxOf, crosses, distanceText, middleOf, moveTo, polygonOf, wrap, type Corner } from './geo';

test('longitudes of any turn of the world', () => {
  for (const [lon, want] of [[0, 0], [180, 180], [-180, -180], [181, -179], [-181, 179], [540, -180], [725, 5]] as const) expect(wrap(lon)).toBeCloseTo(want, 9);
});

test('the box of a view', () => {
  expect(bboxOfView(1, 2, 3, 4)).toEqual([1, 2, 3, 4]);
  expect(bboxOfView(170, -20, 190, -10)).toEqual([170, -20, -170, -10]);
  expect(bboxOfView(-200, -95, 200, 95)).toEqual([-180, -90, 180, 90]);
  expect(bboxOfView(361, 0, 362, 1)).toEqual([1, 0, 2, 1]);
});

test('a drawn area turns counterclockwise and is closed', () => {
  const want = { type: 'Polygon', coordinates: [[[0, 0], [2, 0], [2, 2], [0, 0]]] };
  expect(polygonOf([[0, 0], [2, 0], [2, 2]])).toEqual(want);
  const other = polygonOf([[2, 2], [2, 0], [0, 0]]);
  expect(other).toEqual(want);
});

test('a drawn area in another turn of the world', () => {
  expect(polygonOf([[360, 0], [362, 0], [362, 2]])).toEqual({ type: 'Polygon', coordinates: [[[0, 0], [2, 0], [2, 2], [0, 0]]] });
});

test('an area over 180 degrees is cut there', () => {
  const area = polygonOf([[178, 0], [182, 0], [182, 4], [178, 4]]);
  expect(area.type).toBe('MultiPolygon');
  const lons = (area.coordinates as Corner[][][]).map((p) => [...new Set(p[0]!.map((c) => c[0]))].sort((a, b) => a - b));
  expect(lons).toEqual([[178, 180], [-180, -178]]);
  // The same with corners as another turn has them.
  expect(polygonOf([[-182, 0], [-178, 0], [-178, 4], [-182, 4]])).toEqual(area);
});

test('edges that cross', () => {
  expect(crosses([[0, 0], [2, 0], [2, 2], [0, 2]])).toBe(false);
  expect(crosses([[0, 0], [2, 2], [2, 0], [0, 2]])).toBe(true);
  expect(crosses([[0, 0], [1, 0], [1, 1]])).toBe(false);
});

test('the box and the middle of geometries', () => {
  expect(boxOf(null)).toBeUndefined();
  expect(boxOf({ type: 'LineString', coordinates: [[1, 5], [3, 2]] })).toEqual([[1, 2], [3, 5]]);
  const both = { type: 'GeometryCollection' as const, geometries: [{ type: 'Point' as const, coordinates: [0, 0] }, { type: 'Point' as const, coordinates: [2, 4] }] };
  expect(middleOf(both)).toEqual([1, 2]);
  expect(middleOf({ type: 'GeometryCollection', geometries: [] })).toBeUndefined();
});

test('the box around a point', () => {
  expect(boxAround([10, 0], 111_195)).toEqual([9, -1, 11, 1]);
  expect(boxAround([10, 60], 111_195).map((v) => Math.round(v))).toEqual([8, 59, 12, 61]);
  expect(boxAround([180, 0], 111_195)).toEqual([179, -1, -179, 1]);
  expect(boxAround([0, 90], 1000)[0]).toBe(-180);
});

test('what is moved keeps its form', () => {
  expect(moveTo({ type: 'Point', coordinates: [1, 1] }, [5, 6])).toEqual({ type: 'Point', coordinates: [5, 6] });
  expect(moveTo({ type: 'Point', coordinates: [1, 1, 834.5] }, [5, 6])).toEqual({ type: 'Point', coordinates: [5, 6, 834.5] });
  expect(moveTo({ type: 'LineString', coordinates: [[0, 0], [2, 2]] }, [11, 1])).toEqual({ type: 'LineString', coordinates: [[10, 0], [12, 2]] });
  expect(moveTo({ type: 'Point', coordinates: [1, 1] }, [181, 0])).toEqual({ type: 'Point', coordinates: [-179, 0] });
  // No further than the pole.
  expect(moveTo({ type: 'LineString', coordinates: [[0, 0], [0, 20]] }, [0, 85])).toEqual({ type: 'LineString', coordinates: [[0, 70], [0, 90]] });
  const both = { type: 'GeometryCollection' as const, geometries: [{ type: 'Point' as const, coordinates: [0, 0] }, { type: 'Point' as const, coordinates: [2, 0] }] };
  expect(moveTo(both, [11, 0])).toEqual({ type: 'GeometryCollection', geometries: [{ type: 'Point', coordinates: [10, 0] }, { type: 'Point', coordinates: [12, 0] }] });
});

test('distances for people', () => {
  expect([0, 12.4, 994, 996, 1540, 12_345, 2_345_678].map(distanceText)).toEqual(['0 m', '12 m', '994 m', '1.0 km', '1.5 km', '12 km', '2,346 km']);
});
