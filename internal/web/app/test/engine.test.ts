// The engine room: it moves when a load starts.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findings } from './axe';
import { drawn, launch, open, root, serve, shot, type Served } from './harness';

let server: Served;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([
    serve('--transport', 'auto', '--collection', 'countries', '--load', `${root}datasets/testdata/countries.geojson`, '--id', 'id', '--engine-load'),
    launch(),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test.each([
  ['light', { width: 1280, height: 900 }],
  ['dark', { width: 320, height: 640 }],
] as const)('moves when a load starts, %s', async (colorScheme, viewport) => {
  const { page, complaints, close } = await open(browser, server.url, { colorScheme, viewport, reducedMotion: 'reduce' });
  await drawn(page);
  await page.getByRole('tab', { name: 'Engine room' }).click();
  await page.getByLabel('Clients', { exact: true }).fill('2');
  await page.getByLabel('Seconds', { exact: true }).fill('120');
  await page.getByRole('button', { name: 'Start a load' }).click();
  // Searches by either way, and what they took.
  await page.getByRole('img', { name: /^Searches of the load.*(messages|offloaded) [1-9]/ }).waitFor();
  await page.getByRole('img', { name: /^Latency of the load.*[1-9]/ }).waitFor();
  await shot(page, `engine-${colorScheme}`);
  expect(await findings(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  await page.getByRole('button', { name: 'Stop the load' }).click();
  await page.getByRole('button', { name: 'Start a load' }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test('without a load it shows HTTP and gRPC, and no empty charts', async () => {
  const plain = await serve('--collection', 'countries', '--load', `${root}datasets/testdata/countries.geojson`, '--id', 'id', '--grpc', '127.0.0.1:0');
  const { page, complaints, close } = await open(browser, `${plain.url}#collection=countries&panel=engine`, { reducedMotion: 'reduce', viewport: { width: 1280, height: 900 } });
  const row = page.getByRole('row', { name: /^HTTP/ });
  await row.waitFor();
  // Requests of this test, until an interval has shown some.
  let over = false;
  const asking = (async () => {
    while (!over) await (await fetch(`${plain.url}collections/countries/items`)).text();
  })();
  await page.getByRole('img', { name: /^Requests, per second, now: HTTP [1-9]/ }).waitFor();
  await page.getByRole('img', { name: /^99 of 100 requests took at most, now: HTTP [\d.]+ (µs|ms|s), gRPC –/ }).waitFor();
  over = true;
  await asking;
  // The page's own streams: the engine room's and the live updates.
  await page.waitForFunction(() => Number([...document.querySelectorAll('#engine tr')].find((r) => r.textContent!.startsWith('HTTP'))!.lastElementChild!.textContent) >= 1);
  expect(await page.getByRole('row', { name: /^gRPC 0 0 – – 0/ }).count()).toBe(1);
  expect(await page.locator('#engine figure:visible figcaption').allTextContents()).toEqual(['Requests, per second', '99 of 100 requests took at most', 'Server processor']);
  await shot(page, 'engine-services');
  expect(await findings(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
  await plain.stop();
});
