// The page over a map of another server.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync, crc32 } from 'node:zlib';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findings } from './axe';
import { drawn, launch, open, redrawn, root, run, serve, shot, type Served } from './harness';

let folder: string;
let maps: Server;
let at: string;
let server: Served;
let browser: Browser;
let key: string;
const asked: IncomingMessage[] = [];
let gone = false;

/** A picture of 256 by 256 pixels of one colour. */
function picture(red: number, green: number, blue: number): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [size, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    size.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([size, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(256, 0);
  head.writeUInt32BE(256, 4);
  head.set([8, 2], 8);
  const line = Buffer.concat([Buffer.of(0), ...Array.from({ length: 256 }, () => Buffer.of(red, green, blue))]);
  const pixels = deflateSync(Buffer.concat(Array.from({ length: 256 }, () => line)));
  return Buffer.concat([Buffer.of(137, 80, 78, 71, 13, 10, 26, 10), chunk('IHDR', head), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))]);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'catfish-page-'));
  const keys = join(folder, 'keys');
  key = await run('keys', 'add', '-f', keys, '--name', 'page', '--role', 'countries:read');
  const green = picture(150, 220, 160);
  maps = createServer((request, response) => {
    asked.push(request);
    response.writeHead(gone ? 503 : 200, { 'Content-Type': 'image/png', 'Access-Control-Allow-Origin': '*' });
    response.end(gone ? '' : green);
  });
  await new Promise<void>((resolve) => maps.listen(0, '127.0.0.1', resolve));
  at = `http://127.0.0.1:${(maps.address() as AddressInfo).port}`;
  [server, browser] = await Promise.all([
    serve('--keys', keys, '--collection', 'countries', '--load', `${root}datasets/testdata/countries.geojson`, '--id', 'id',
      '--http-basemap', `${at}/a/{z}/{x}/{y}.png`, '--http-basemap-attribution', '© The map <makers>'),
    launch(),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
  maps?.close();
  if (folder) rmSync(folder, { recursive: true });
});

test.each(['light', 'dark'] as const)('a base map lies under the places, %s', async (colorScheme) => {
  const { page, complaints, strangers, close } = await open(browser, `${server.url}#collection=countries&map=5/46/6`, { colorScheme, reducedMotion: 'reduce' });
  const dialog = page.getByRole('dialog', { name: 'Key' });
  await dialog.getByLabel('Key').fill(key);
  await dialog.getByRole('button', { name: 'Use' }).click();
  await page.locator('#collection option:checked').getByText('countries (13)').waitFor({ state: 'attached' });
  await drawn(page);
  await page.locator('#credit').getByText('Map: © The map <makers> ·').waitFor();
  await shot(page, `basemap-${colorScheme}`);
  // Its colour is where nothing else is.
  const png = (await page.screenshot({ clip: { x: 420, y: 700, width: 1, height: 1 } })).toString('base64');
  const [red, green] = await page.evaluate(async (text) => {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d')!;
    canvas.drawImage(await createImageBitmap(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))])), 0, 0);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  }, png) as [number, number];
  expect(green).toBeGreaterThan(red + 10);
  expect(await findings(page)).toEqual([]);
  // Another server gets no key, and learns the site alone.
  expect(strangers.length).toBeGreaterThan(0);
  expect(strangers.every((url) => url.startsWith(`${at}/a/`))).toBe(true);
  for (const { headers } of asked) {
    expect(headers.authorization).toBeUndefined();
    expect(headers.referer).toBe(server.url);
  }
  expect(complaints.filter((c) => !c.includes('401'))).toEqual([]);

  // Without it the places are shown, and it is said once.
  gone = true;
  await redrawn(page, () => page.evaluate(() => (location.hash = '#collection=countries&map=6/10/60')));
  await page.locator('.note').getByText('The base map could not be loaded').waitFor();
  expect(await page.locator('.note').count()).toBe(1);
  gone = false;
  await close();
});
