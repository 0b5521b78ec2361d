// What the page is for people who use it without a mouse, or without good eyes.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findings } from './axe';
import { drawn, launch, open, root, serve, shot, type Served } from './harness';

let server: Served;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([serve('--collection', 'andorra', '--load', `${root}datasets/testdata/andorra.osm.pbf`), launch()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const sizes = { wide: { width: 1280, height: 800 }, phone: { width: 320, height: 640 } };

describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
  test.each(Object.keys(sizes) as (keyof typeof sizes)[])('axe-core finds nothing, %s', async (size) => {
    const { page, complaints, close } = await open(browser, `${server.url}#collection=andorra&map=15/42.5075/1.5218`, { colorScheme, viewport: sizes[size], reducedMotion: 'reduce' });
    const look = async (name: string): Promise<void> => {
      await drawn(page);
      await shot(page, `${size}-${colorScheme}-${name}`);
      expect(await findings(page), name).toEqual([]);
      // Nothing is wider than the window.
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), name).toBe(true);
    };
    await look('start');
    await page.getByRole('button', { name: 'Search this area' }).click();
    await page.locator('#list > li').first().waitFor();
    await look('results');
    await page.locator('#list button').first().click();
    await page.locator('#details h2').waitFor();
    await look('details');
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('button', { name: 'Save' }).waitFor();
    await look('edit');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').waitFor();
    await look('dialog');
    await page.getByRole('button', { name: 'Keep it' }).click();
    await page.getByRole('button', { name: 'Back' }).click();
    await page.getByRole('combobox', { name: 'Filter' }).fill('amenity ');
    await page.locator('#suggestions li').first().waitFor();
    await look('suggestions');
    await page.getByRole('combobox', { name: 'Filter' }).press('Escape');
    await page.getByRole('button', { name: 'Draw area' }).click();
    await page.locator('#tool').waitFor();
    await look('drawing');
    expect(complaints).toEqual([]);
    await close();
  });
});

test('the focus goes where people go on', async () => {
  const { page, close } = await open(browser, `${server.url}#collection=andorra&map=16/42.5075/1.5218`);
  const focused = (): Promise<string> => page.evaluate(() => document.activeElement?.id || document.activeElement?.getAttribute('data-id') || '');
  await drawn(page);
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip the map');
  await page.keyboard.press('Enter');
  expect(await focused()).toBe('panel');
  await page.getByRole('button', { name: 'Search this area' }).press('Enter');
  await page.locator('#list > li').first().waitFor();
  expect(await focused()).toBe('results-title');
  expect(await page.locator('#status').textContent()).toMatch(/ places$/);
  const first = page.locator('#list button').first();
  const id = await first.getAttribute('data-id');
  await first.press('Enter');
  await page.locator('#details h2').waitFor();
  expect(await focused()).toBe('details-title');
  await page.getByRole('button', { name: 'Back' }).press('Enter');
  await page.locator('#details h2').waitFor({ state: 'detached' });
  expect(await focused()).toBe(id);
  await close();
});

test('the switch of colours is kept', async () => {
  const { page, close } = await open(browser, server.url, { colorScheme: 'light' });
  await drawn(page);
  const theme = (): Promise<string | undefined> => page.evaluate(() => document.documentElement.dataset['theme']);
  const button = page.getByRole('button', { name: /^Colours/ });
  expect(await theme()).toBe('light');
  await button.click();
  await button.click();
  expect(await theme()).toBe('dark');
  await page.reload();
  expect(await theme()).toBe('dark');
  await page.getByRole('button', { name: 'Colours: dark' }).waitFor();
  await close();
});
