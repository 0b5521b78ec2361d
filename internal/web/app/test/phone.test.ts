// The page where its panel is a sheet over the map.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { drawn, launch, open, root, serve, type Served, type Tab } from './harness';

let server: Served;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([serve('--collection', 'andorra', '--load', `${root}datasets/testdata/andorra.osm.pbf`), launch()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const size = { width: 390, height: 844 };

async function visit(link = ''): Promise<Tab> {
  const tab = await open(browser, server.url + link, { viewport: size });
  await drawn(tab.page);
  return tab;
}

/** The zoom, latitude and longitude in the middle of the map. */
function view(page: Page): [number, number, number] {
  return new URLSearchParams(new URL(page.url()).hash.slice(1)).get('map')!.split('/').map(Number) as [number, number, number];
}

/** Where a latitude is in Web Mercator, 0 to 1 from the north. */
const row = (lat: number): number => (1 - Math.asinh(Math.tan((lat * Math.PI) / 180)) / Math.PI) / 2;

test('the collection is first shown above the sheet', async () => {
  const { page, complaints, close } = await visit();
  const { extent } = (await (await fetch(`${server.url}collections/andorra`)).json()) as { extent: { spatial: { bbox: [[number, number, number, number]] } } };
  const [, south, , north] = extent.spatial.bbox[0];
  const [zoom, lat] = view(page);
  const at = (y: number): number => size.height / 2 + (row(y) - row(lat)) * 512 * 2 ** zoom;
  const sheet = (await page.locator('#panel').boundingBox())!.y;
  expect(sheet).toBeLessThan(size.height);
  expect(at(north)).toBeGreaterThanOrEqual(0);
  expect(at(south)).toBeLessThanOrEqual(sheet);
  expect(complaints).toEqual([]);
  await close();
});

test('what is to be shown is shown, though the sheet goes down meanwhile', async () => {
  const { page, complaints, close } = await visit('#collection=andorra&feature=node/4268047996&map=12/42.55/1.6');
  await page.locator('#details button', { hasText: 'Show' }).click();
  await page.waitForFunction(() => location.hash.includes('map=17.00/42.5085'));
  const [, lat, lon] = view(page);
  expect(lat).toBeCloseTo(42.508527, 4);
  expect(lon).toBeCloseTo(1.522387, 4);
  expect(complaints).toEqual([]);
  await close();
});

test('while an area is drawn, nothing lies over its buttons', async () => {
  const { page, complaints, close } = await visit('#collection=andorra&map=15/42.5075/1.5218');
  await page.getByRole('button', { name: 'Draw area' }).click();
  const tool = (await page.locator('#tool').boundingBox())!;
  const credit = (await page.locator('#credit').boundingBox())!;
  expect(credit.y).toBeGreaterThanOrEqual(tool.y + tool.height);
  expect(complaints).toEqual([]);
  await close();
});
