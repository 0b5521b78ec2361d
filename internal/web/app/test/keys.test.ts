// The page on a server with keys.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { drawn, launch, open, root, run, serve, type Served } from './harness';

let folder: string;
let server: Served;
let browser: Browser;
let reader: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'catfish-page-'));
  const keys = join(folder, 'keys');
  reader = await run('keys', 'add', '-f', keys, '--name', 'page', '--role', 'countries:read');
  [server, browser] = await Promise.all([
    serve('--keys', keys, '--collection', 'countries', '--load', `${root}datasets/testdata/countries.geojson`, '--id', 'id'),
    launch(),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
  if (folder) rmSync(folder, { recursive: true });
});

test('asks for a key, keeps it for the tab, and says what it may not', async () => {
  const { page, complaints, close } = await open(browser, server.url);
  const dialog = page.getByRole('dialog', { name: 'Key' });
  await dialog.waitFor();
  await dialog.getByLabel('Key').fill('wrong');
  await dialog.getByRole('button', { name: 'Use' }).click();
  await dialog.getByLabel('Key').fill(reader);
  await dialog.getByRole('button', { name: 'Use' }).click();
  await page.locator('#collection option:checked').getByText('countries (13)').waitFor({ state: 'attached' });
  await drawn(page);
  await page.locator('#live-state').getByText(/^on$/).waitFor();
  await page.reload();
  await drawn(page);
  expect(await dialog.isVisible()).toBe(false);
  expect(complaints.filter((c) => !c.includes('401'))).toEqual([]);

  await page.goto(`${server.url}#collection=countries&feature=AD`);
  await page.getByRole('heading', { name: 'AD' }).waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Your key does not allow this.').waitFor();
  // The key is in no address, and in no other tab.
  expect(page.url()).not.toContain(reader);
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain(reader);
  await close();
});
