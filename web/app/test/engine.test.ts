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
