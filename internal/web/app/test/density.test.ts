// The page with more places than a tile draws.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findings } from './axe';
import { drawn, launch, open, serve, shot, type Served } from './harness';

let folder: string;
let server: Served;
let browser: Browser;

/** Where most are. */
const town: [number, number] = [10, 45];
const inTown = 20_000;
const elsewhere = 10_000;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'catfish-page-'));
  // The same numbers each time.
  let seed = 1;
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  const spread = (): number => random() + random() + random() - 1.5;
  const place = (i: number, at: [number, number]): string =>
    JSON.stringify({ type: 'Feature', id: `p${i}`, geometry: { type: 'Point', coordinates: at }, properties: { kind: i % 2 ? 'odd' : 'even' } });
  const lines: string[] = [];
  for (let i = 0; i < inTown; i++) lines.push(place(i, [town[0] + spread() / 5, town[1] + spread() / 7]));
  for (let i = 0; i < elsewhere; i++) lines.push(place(inTown + i, [random() * 20, 38 + random() * 14]));
  const file = join(folder, 'places.geojsonl');
  writeFileSync(file, lines.join('\n'));
  [server, browser] = await Promise.all([serve('--collection', 'places', '--load', file), launch()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
  if (folder) rmSync(folder, { recursive: true });
});

/** How much darker than nothing the map is around some pixels: 0 to 255. */
async function ink(page: Page, nothing: { x: number; y: number }, at: { x: number; y: number }): Promise<number> {
  const side = 24;
  const mean = async ({ x, y }: { x: number; y: number }): Promise<number> => {
    const png = await page.screenshot({ clip: { x: x - side / 2, y: y - side / 2, width: side, height: side } });
    return page.evaluate(async (text) => {
      const picture = await createImageBitmap(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]));
      const canvas = new OffscreenCanvas(picture.width, picture.height).getContext('2d')!;
      canvas.drawImage(picture, 0, 0);
      const { data } = canvas.getImageData(0, 0, picture.width, picture.height);
      return data.filter((_, i) => i % 4 === 0).reduce((sum, v) => sum + v, 0) / (data.length / 4);
    }, png.toString('base64'));
  };
  return (await mean(nothing)) - (await mean(at));
}

test.each(['light', 'dark'] as const)('where there is much is seen, %s', async (colorScheme) => {
  const { page, complaints, close } = await open(browser, `${server.url}#collection=places&map=4.7/45/10`, { colorScheme, reducedMotion: 'reduce' });
  await drawn(page);
  await shot(page, `density-${colorScheme}`);
  // The town is in the middle of what the panel leaves; 3 degrees to its west are few places, and
  // to the north of all is nothing.
  const middle = await page.evaluate(() => ({ x: (innerWidth + parseFloat(document.body.style.getPropertyValue('--left'))) / 2, y: innerHeight / 2 }));
  const degree = (512 * 2 ** 4.7) / 360;
  const west = { x: middle.x - 3 * degree, y: middle.y };
  const nothing = { x: middle.x + 11.2 * degree, y: middle.y };
  const sign = colorScheme === 'light' ? 1 : -1;
  const [much, few] = [sign * (await ink(page, nothing, middle)), sign * (await ink(page, nothing, west))];
  expect(few).toBeGreaterThan(0);
  expect(much).toBeGreaterThan(few + 40);
  // It says how many there are.
  await page.mouse.move(middle.x + 1, middle.y);
  await page.mouse.move(middle.x, middle.y);
  const tip = page.locator('#tip');
  await tip.waitFor();
  const n = Number(/^([\d,]+) places around here$/.exec((await tip.textContent())!)![1]!.replaceAll(',', ''));
  expect(n).toBeGreaterThan(inTown / 2);
  expect(n).toBeLessThan(inTown + elsewhere);
  expect(await findings(page)).toEqual([]);
  // A click goes nearer.
  await page.mouse.click(middle.x, middle.y);
  await page.waitForFunction(() => location.hash.includes('map=6.70/'));
  expect(await tip.isVisible()).toBe(false);
  expect(complaints).toEqual([]);
  await close();
});

test('a filter that tiles cannot be had with asks to zoom in, once', async () => {
  const { page, complaints, close } = await open(browser, `${server.url}#collection=places&map=5.00/45/10`, { reducedMotion: 'reduce' });
  await drawn(page);
  const refused: string[] = [];
  const given: string[] = [];
  await page.route(/\/tiles\/.*[?&]filter=/, (route) => {
    const url = route.request().url();
    if (!/\/tiles\/[0-6]\//.test(url)) {
      given.push(url);
      return route.continue();
    }
    refused.push(url);
    return route.fulfill({ status: 400, contentType: 'application/problem+json', body: JSON.stringify({ detail: '5/1/1 of "places": too many for one answer' }) });
  });
  const box = page.getByRole('combobox', { name: 'Filter' });
  await box.fill("kind = 'odd'");
  await box.press('Escape');
  await box.press('Enter');
  const notes = page.locator('.note');
  await notes.getByText('Zoom in to see them.').waitFor();
  // A busy server does not count them all.
  await page.locator('#results-title').getByText(/^50 (of|places so far)/).waitFor();
  await drawn(page);
  expect(await notes.count()).toBe(1);
  expect(await page.locator('.note.error').count()).toBe(0);
  // Where tiles of a zoom are refused no more of them are asked for.
  const before = refused.length;
  await page.locator('canvas').focus();
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown']) await page.keyboard.press(key);
  await drawn(page);
  expect(refused.length).toBe(before);
  await notes.getByRole('button', { name: 'Zoom in' }).click();
  await page.waitForFunction(() => location.hash.includes('map=7.00/'));
  await drawn(page);
  expect(given.length).toBeGreaterThan(0);
  expect(await notes.count()).toBe(0);
  // The browser's console has a line for each answer, and nothing more.
  expect(complaints.filter((c) => !c.includes('400'))).toEqual([]);
  expect(complaints.length).toBeLessThanOrEqual(refused.length);
  await close();
});
