// The page as people use it, with Andorra of OpenStreetMap.
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { drawn, launch, open, redrawn, root, serve, shot, type Served, type Tab } from './harness';

let server: Served;
let browser: Browser;
let tab: Tab;
let page: Page;
/** The status whose failed requests a test expects in the console. They may be reported after its last line. */
let expectedStatus = '';

beforeAll(async () => {
  [server, browser] = await Promise.all([serve('--collection', 'andorra', '--load', `${root}datasets/testdata/andorra.osm.pbf`), launch()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/** Opens the page anew; link is what stands behind #. */
async function visit(link = '', options = {}): Promise<void> {
  tab = await open(browser, server.url + link, options);
  page = tab.page;
  await drawn(page);
}

beforeEach(() => {
  tab = undefined as unknown as Tab;
  expectedStatus = '';
});
afterEach(async () => {
  if (!tab) return;
  const { complaints, strangers } = tab;
  await tab.close();
  expect(complaints.filter((c) => !expectedStatus || !c.includes(expectedStatus))).toEqual([]);
  expect(strangers).toEqual([]);
});

interface Item {
  id: string;
  geometry: { type: string; coordinates: [number, number] };
  properties: Record<string, string>;
}

async function items(query: Record<string, string>): Promise<{ features: Item[]; numberMatched: number }> {
  const r = await fetch(`${server.url}collections/andorra/items?${new URLSearchParams({ numberMatched: 'true', ...query })}`);
  expect(r.status).toBe(200);
  return (await r.json()) as { features: Item[]; numberMatched: number };
}

const feature = (id: string): string => `${server.url}collections/andorra/items/${encodeURIComponent(id)}`;

/** Makes a feature as another client would. */
async function put(id: string, at: [number, number] | undefined, properties: object): Promise<void> {
  const body = JSON.stringify({ type: 'Feature', geometry: at ? { type: 'Point', coordinates: at } : null, properties });
  const r = await fetch(feature(id), { method: 'PUT', headers: { 'Content-Type': 'application/geo+json' }, body });
  expect([201, 204]).toContain(r.status);
}

async function hash(): Promise<URLSearchParams> {
  return new URLSearchParams(new URL(page.url()).hash.slice(1));
}

/** Where nothing is. */
const lonely: [number, number] = [1.05, 42.35];

test('loads, shows the collection and its extent', async () => {
  await visit();
  expect(await page.title()).toBe('andorra – Catfish');
  expect(await page.locator('#collection option:checked').textContent()).toMatch(/^andorra \(29,\d{3}\)$/);
  const [zoom, lat, lon] = (await hash()).get('map')!.split('/').map(Number) as [number, number, number];
  expect(zoom).toBeGreaterThan(8);
  expect(lat).toBeCloseTo(42.55, 1);
  expect(lon).toBeGreaterThan(0.9);
  expect(lon).toBeLessThan(1.9);
  await shot(page, 'start');
});

/** Waits until the map shows the collection's extent. */
async function atExtent(): Promise<void> {
  const { extent } = (await (await fetch(`${server.url}collections/andorra`)).json()) as { extent: { spatial: { bbox: [[number, number, number, number]] } } };
  const [w, s, e, n] = extent.spatial.bbox[0];
  await page.waitForFunction(([lat, lon]) => {
    const [zoom, y, x] = new URLSearchParams(location.hash.slice(1)).get('map')!.split('/').map(Number) as [number, number, number];
    return zoom > 8 && Math.abs(y - lat!) < 0.05 && Math.abs(x - lon!) < 0.05;
  }, [(s + n) / 2, (w + e) / 2]);
}

test('a link without a position goes to the collection', async () => {
  await visit('#collection=andorra');
  await atExtent();
  // So does one that is written into the address of an open page.
  await page.evaluate(() => (location.hash = '#collection=andorra&map=3/0/0'));
  await page.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).get('map')?.startsWith('3.00/'));
  await drawn(page);
  await page.evaluate(() => (location.hash = '#collection=andorra'));
  await atExtent();
});

test('goes to the collection that is shown', async () => {
  await visit('#collection=andorra&map=4/10/100');
  await page.getByRole('button', { name: 'Zoom to the collection' }).click();
  await atExtent();
});

test('nothing found leads to the collection', async () => {
  await visit("#collection=andorra&map=12/10/100&filter=amenity+%3D+'cafe'");
  await page.getByRole('button', { name: 'Search this area' }).click();
  await page.locator('#results-title').getByText('Nothing found').waitFor();
  await page.getByRole('button', { name: 'Search the whole collection' }).click();
  const { numberMatched } = await items({ filter: "amenity = 'cafe'" });
  await page.locator('#results-title').getByText(`${numberMatched} places`).waitFor();
  await atExtent();
  expect(await page.getByRole('button', { name: 'Search the whole collection' }).isVisible()).toBe(false);
});

test('pans and zooms, by keys and by mouse, and asks for tiles', async () => {
  await visit('#collection=andorra&map=13/42.5/1.5');
  await page.locator('canvas').focus();
  await redrawn(page, () => page.keyboard.press('ArrowRight'));
  const [, , lon] = (await hash()).get('map')!.split('/').map(Number) as [number, number, number];
  expect(lon).toBeGreaterThan(1.5);
  const tile = page.waitForResponse((r) => /\/tiles\/14\/\d+\/\d+\.mvt/.test(r.url()));
  await page.keyboard.press('+');
  expect([200, 204]).toContain((await tile).status());
  await drawn(page);
  await page.mouse.move(800, 400);
  await redrawn(page, async () => {
    await page.mouse.down();
    await page.mouse.move(700, 300, { steps: 4 });
    await page.mouse.up();
  });
  const [zoom, lat] = (await hash()).get('map')!.split('/').map(Number) as [number, number];
  expect(zoom).toBe(14);
  expect(lat).not.toBe(42.5);
});

test('searches the area, page by page', async () => {
  await visit('#collection=andorra&map=16/42.5075/1.5218');
  await page.getByRole('button', { name: 'Search this area' }).click();
  const title = page.locator('#results-title');
  await page.waitForFunction(() => /^50 of [\d,]+ places$/.test(document.querySelector('#results-title')!.textContent!));
  const total = Number(/of ([\d,]+)/.exec((await title.textContent())!)![1]!.replace(',', ''));
  expect(total).toBeGreaterThan(100);
  expect(await page.locator('#list > li').count()).toBe(50);
  await shot(page, 'search');
  await page.getByRole('button', { name: 'Show more' }).click();
  await page.locator('#list > li').nth(99).waitFor();
  const ids = await page.locator('#list button').evaluateAll((all) => all.map((b) => b.getAttribute('data-id')));
  expect(new Set(ids).size).toBe(100);
  await page.getByRole('button', { name: 'Close the results' }).click();
  await title.waitFor({ state: 'hidden' });
});

test('finds nothing in an area that is empty, though a place without a geometry is in each bbox', async () => {
  await put('test/nowhere', undefined, { name: 'Nowhere' });
  expect((await items({ bbox: [lonely, lonely].join(',') })).numberMatched).toBe(1);
  await visit(`#collection=andorra&map=16/${lonely[1]}/${lonely[0]}`);
  await page.getByRole('button', { name: 'Search this area' }).click();
  await page.locator('#results-title').getByText('Nothing found').waitFor();
  await fetch(feature('test/nowhere'), { method: 'DELETE' });
});

test('filters, with suggestions, and shows what is wrong', async () => {
  await visit('#collection=andorra&map=12/42.51/1.54');
  const box = page.getByRole('combobox', { name: 'Filter' });
  await box.fill('amen');
  await page.getByRole('option', { name: /^amenity/ }).waitFor();
  await box.press('ArrowDown');
  await box.press('Enter');
  expect(await box.inputValue()).toBe('amenity ');
  await page.getByRole('option', { name: /^= / }).click();
  expect(await box.inputValue()).toBe('amenity = ');
  await shot(page, 'suggestions');
  await box.press('Escape');
  await box.press('Enter');
  const problem = page.locator('#filter-problem');
  await problem.getByText('Column 10: The end, want a property or a literal.').waitFor();
  expectedStatus = '400';
  await box.fill("amenity = 'cafe'");
  const tile = page.waitForRequest((r) => r.url().includes('.mvt') && new URL(r.url()).searchParams.get('filter') === "amenity = 'cafe'");
  await box.press('Enter');
  await tile;
  const { numberMatched } = await items({ filter: "amenity = 'cafe'" });
  await page.locator('#results-title').getByText(/ places?$/).waitFor();
  expect(await page.locator('#list > li').count()).toBeLessThanOrEqual(numberMatched);
  expect(await page.locator('#list .soft').allTextContents()).toSatisfy((all: string[]) => all.length > 0 && all.every((t) => t === 'cafe'));
  expect(await problem.textContent()).toBe('');
  expect((await hash()).get('filter')).toBe("amenity = 'cafe'");
  await page.goBack();
  await page.waitForFunction(() => (document.querySelector('#filter') as HTMLInputElement).value === '');
});

test('values of what is in view are suggested', async () => {
  await visit('#collection=andorra&map=15/42.5075/1.5218');
  const box = page.getByRole('combobox', { name: 'Filter' });
  await box.fill("amenity = 'ca");
  await page.getByRole('option', { name: "'cafe'" }).waitFor();
  await box.fill('amenity = ');
  // As many as there is room for, of what is there.
  await page.waitForFunction(() => document.querySelectorAll('#suggestions li').length === 8);
  await box.press('Escape');
  expect(await page.locator('#suggestions').isVisible()).toBe(false);
  await box.fill("name = 'no such place at all");
  await page.waitForResponse((r) => r.url().includes('/items?') && decodeURIComponent(r.url()).includes('no+such+place'));
  expect(await page.locator('#suggestions').isVisible()).toBe(false);
});

test('a click on the map opens what is there', async () => {
  await put('test/click', lonely, { name: 'Alone', amenity: 'bench' });
  await visit(`#collection=andorra&map=17/${lonely[1]}/${lonely[0]}`);
  await clickAt(lonely);
  await page.getByRole('heading', { name: 'Alone' }).waitFor();
  expect((await hash()).get('feature')).toBe('test/click');
  expect(await page.locator('#details td').allTextContents()).toContain('bench');
  await page.goBack();
  await page.getByRole('heading', { name: 'Alone' }).waitFor({ state: 'detached' });
  await fetch(feature('test/click'), { method: 'DELETE' });
});

/** Clicks where a position in the middle of the map is: right of the panel. */
async function clickAt(at: [number, number]): Promise<void> {
  const { x, y } = await middle();
  const shown = (await hash()).get('map')!.split('/').map(Number) as [number, number, number];
  expect(shown[1]).toBeCloseTo(at[1], 3);
  await page.mouse.click(x, y);
}

/** The middle of the map that the panel does not cover. */
async function middle(): Promise<{ x: number; y: number }> {
  return page.evaluate(() => {
    const part = (name: string): number => parseFloat(document.body.style.getPropertyValue(name)) || 0;
    return { x: (part('--left') + innerWidth) / 2, y: (innerHeight - part('--bottom')) / 2 };
  });
}

test('what is being edited is not lost by a click on the map', async () => {
  await put('test/edited', lonely, { name: 'Edited' });
  await put('test/other', [lonely[0], lonely[1] + 0.002], { name: 'Other' });
  await visit(`#collection=andorra&feature=test/edited&map=17/${lonely[1] + 0.002}/${lonely[0]}`);
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('Value of name').fill('Not saved yet');
  await clickAt([lonely[0], lonely[1] + 0.002]);
  await page.getByText('Save or cancel what you are editing first.').waitFor();
  expect(await page.getByLabel('Value of name').inputValue()).toBe('Not saved yet');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await clickAt([lonely[0], lonely[1] + 0.002]);
  await page.getByRole('heading', { name: 'Other' }).waitFor();
  for (const id of ['test/edited', 'test/other']) await fetch(feature(id), { method: 'DELETE' });
});

test('near me: by the device, or where the map is', async () => {
  await visit('#collection=andorra&map=15/42.5075/1.5218');
  await page.getByRole('button', { name: 'Near me' }).click();
  await page.getByText('as your position is not known').waitFor();
  const first = page.locator('#list .soft').first();
  expect(await first.textContent()).toMatch(/ m$/);
  await tab.close();

  await visit('#collection=andorra&map=0.8/10/100', { geolocation: { longitude: 1.5218, latitude: 42.5075 }, permissions: ['geolocation'] });
  await page.getByRole('button', { name: 'Near me' }).click();
  await page.getByText('Nearest to you').waitFor();
  await page.locator('#list > li').first().waitFor();
  expect(await page.locator('#list > li').count()).toBe(50);
  // The map goes to what is near.
  await page.waitForFunction(() => {
    const [zoom, lat, lon] = new URLSearchParams(location.hash.slice(1)).get('map')!.split('/').map(Number) as [number, number, number];
    return zoom > 14 && Math.abs(lat - 42.5075) < 0.01 && Math.abs(lon - 1.5218) < 0.01;
  });
});

test('draws an area and searches in it', async () => {
  await visit('#collection=andorra&map=16/42.5075/1.5218');
  await page.getByRole('button', { name: 'Draw area' }).click();
  const { x, y } = await middle();
  for (const [dx, dy] of [[-150, -150], [150, -150], [150, 150], [-150, 150]] as const) await page.mouse.click(x + dx, y + dy);
  await page.locator('#tool-text').getByText('4 corners').waitFor();
  await shot(page, 'draw');
  const request = page.waitForRequest((r) => r.url().includes('/items?') && r.url().includes('S_INTERSECTS'));
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  const filter = new URL((await request).url()).searchParams.get('filter')!;
  const { numberMatched } = await items({ filter, limit: '1' });
  expect(numberMatched).toBeGreaterThan(0);
  await page.locator('#results-title').getByText(numberMatched > 50 ? /^50 of [\d,]+ places$|^50 places so far$/ : `${numberMatched} place`).waitFor();
});

test('adds, edits, moves and deletes a place, by keys alone', async () => {
  await visit(`#collection=andorra&map=16/${lonely[1]}/${lonely[0]}`);
  const press = async (name: string): Promise<void> => {
    await page.getByRole('button', { name, exact: true }).focus();
    await page.keyboard.press('Enter');
  };
  await press('Add place');
  await page.getByText('Click where the new place is.').waitFor();
  // The map has the focus: Enter sets the point at its middle.
  await page.keyboard.press('Enter');
  await page.getByText('The point is set').waitFor();
  await press('Next');
  await page.getByRole('heading', { name: 'A new place' }).waitFor();
  await page.keyboard.type('Made by keys');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Made by keys' }).waitFor();
  const id = (await hash()).get('feature')!;
  const made = (await (await fetch(feature(id))).json()) as Item;
  expect(made.properties).toEqual({ name: 'Made by keys' });
  expect(made.geometry.coordinates[0]).toBeCloseTo(lonely[0], 3);

  await press('Edit');
  await page.getByRole('heading', { name: 'Edit Made by keys' }).waitFor();
  await shot(page, 'edit');
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.type('Changed by keys');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Changed by keys', exact: true }).waitFor();

  await press('Move');
  await page.getByText('Click where Changed by keys is.').waitFor();
  await redrawn(page, () => page.keyboard.press('ArrowUp'));
  await page.keyboard.press('Enter');
  const moved = page.waitForResponse((r) => r.request().method() === 'PATCH');
  await press('Move it');
  expect((await moved).status()).toBe(204);
  const after = (await (await fetch(feature(id))).json()) as Item;
  expect(after.geometry.coordinates[1]).toBeGreaterThan(made.geometry.coordinates[1]);
  expect(after.properties).toEqual({ name: 'Changed by keys' });

  await press('Delete');
  const dialog = page.getByRole('dialog', { name: 'Delete Changed by keys?' });
  await dialog.waitFor();
  await shot(page, 'delete');
  await dialog.getByRole('button', { name: 'Delete' }).press('Enter');
  await page.getByText('Changed by keys was deleted.').waitFor();
  expect((await fetch(feature(id))).status).toBe(404);
});

test('what somebody else has changed is not overwritten unasked', async () => {
  await put('test/both', lonely, { name: 'First' });
  await visit('#collection=andorra&feature=test/both&map=16/42.35/1.05');
  await page.getByRole('heading', { name: 'First' }).waitFor();
  // Without live updates the page does not notice.
  await page.getByRole('switch', { name: 'Live' }).click();
  await page.getByRole('button', { name: 'Edit' }).click();
  await put('test/both', lonely, { name: 'Theirs' });
  await page.getByLabel('Value of name').fill('Mine');
  await page.getByRole('button', { name: 'Save' }).click();
  const dialog = page.getByRole('dialog', { name: 'It was changed meanwhile' });
  await dialog.waitFor();
  expect(((await (await fetch(feature('test/both'))).json()) as Item).properties['name']).toBe('Theirs');
  await shot(page, 'conflict');
  await dialog.getByRole('button', { name: 'Write mine over it' }).click();
  await page.getByRole('heading', { name: 'Mine', exact: true }).waitFor();
  expect(((await (await fetch(feature('test/both'))).json()) as Item).properties['name']).toBe('Mine');
  // The browser's console tells of the answer 412.
  expectedStatus = '412';
  await fetch(feature('test/both'), { method: 'DELETE' });
});

test('what others write is shown as it happens', async () => {
  await visit(`#collection=andorra&map=16/${lonely[1]}/${lonely[0]}`);
  await page.locator('#live-state').getByText(/^on$/).waitFor();
  const tile = page.waitForRequest((r) => r.url().includes('.mvt'));
  await put('test/live', lonely, { name: 'Just opened' });
  await page.locator('#events li').getByText('Just opened').waitFor();
  await tile;
  await shot(page, 'live');
  await page.locator('#events').getByRole('button', { name: 'Just opened' }).click();
  await page.getByRole('heading', { name: 'Just opened' }).waitFor();
  await put('test/live', lonely, { name: 'Renamed' });
  await page.getByRole('heading', { name: 'Renamed' }).waitFor();
  await fetch(feature('test/live'), { method: 'DELETE' });
  await page.locator('#events li').getByText('was deleted').waitFor();
});

test('a link shows what it was made from', async () => {
  await visit("#collection=andorra&map=15.5/42.5075/1.5218&filter=amenity+%3D+'bank'");
  expect(await page.getByRole('combobox', { name: 'Filter' }).inputValue()).toBe("amenity = 'bank'");
  expect((await hash()).get('map')).toMatch(/^15\.50\/42\.5075/);
});

test('a wrong filter in a link is marked', async () => {
  await visit('#collection=andorra&map=15/42.5075/1.5218&filter=amenity+%3D');
  await page.locator('#filter-problem').getByText('Column 10: The end, want a property or a literal.').waitFor();
  expect(await page.locator('.note').count()).toBe(0);
  expectedStatus = '400';
});

test('nearby there is no coast: it is not exact enough', async () => {
  /** How many colours the map has at Monaco, left of the buttons. */
  const colours = async (zoom: number): Promise<number> => {
    await visit(`#collection=andorra&map=${zoom}/43.73/7.42`);
    const png = await page.screenshot({ clip: { x: 450, y: 50, width: 600, height: 600 } });
    const n = await page.evaluate(async (text) => {
      const picture = await createImageBitmap(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]));
      const canvas = new OffscreenCanvas(picture.width, picture.height).getContext('2d')!;
      canvas.drawImage(picture, 0, 0);
      return new Set(new Uint32Array(canvas.getImageData(0, 0, picture.width, picture.height).data.buffer)).size;
    }, png.toString('base64'));
    await tab.close();
    return n;
  };
  expect(await colours(7)).toBeGreaterThan(2);
  expect(await colours(12)).toBe(1);
  await visit();
});

test('an error is in plain words, and tried again', async () => {
  await visit('#collection=andorra&map=15/42.5075/1.5218');
  let refused = 0;
  await page.route('**/items?**', (route) => (refused++ < 2 ? route.fulfill({ status: 503, body: '{"detail":"busy"}', contentType: 'application/problem+json' }) : route.continue()));
  await page.getByRole('button', { name: 'Search this area' }).click();
  await page.getByText('The server is busy: busy. Trying again in 1 s.').first().waitFor();
  await page.locator('#list > li').first().waitFor();
  expectedStatus = '503';
});
