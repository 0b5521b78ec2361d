import { expect, test } from 'vitest';
import { basemapOf } from './basemap';

test('the base map that the page has', () => {
  const of = (metas: Record<string, string>): ReturnType<typeof basemapOf> => basemapOf((name) => metas[name]);
  expect(of({})).toBeUndefined();
  const url = 'https://tile.example.org:81/{z}/{x}/{y}.png';
  expect(of({ basemap: url, 'basemap-attribution': '© Them' })).toMatchObject({ source: { tiles: [url] }, credit: '© Them' });
  expect(of({ basemap: url, 'basemap-attribution': '' })?.credit).toBe('tile.example.org:81');
});
