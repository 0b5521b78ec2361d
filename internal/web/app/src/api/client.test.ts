import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Client } from './client';
import { plain, Problem } from './problem';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

interface Asked {
  url: string;
  init: RequestInit;
}

function client(answers: (Response | Error)[], base = 'https://example.org/places/'): { c: Client; asked: Asked[]; keys: () => number; retries: (number | undefined)[] } {
  const asked: Asked[] = [];
  let keys = 0;
  const retries: (number | undefined)[] = [];
  const send = (url: unknown, init?: RequestInit): Promise<Response> => {
    asked.push({ url: String(url), init: init ?? {} });
    const next = answers.shift();
    if (next === undefined) throw new Error('asked too often');
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
  };
  const c = new Client(base, { onKey: () => keys++, onRetry: (wait) => retries.push(wait) }, send as typeof fetch);
  return { c, asked, keys: () => keys, retries };
}

const ok = (body: object, headers: Record<string, string> = {}): Response => new Response(JSON.stringify(body), { headers });
const bad = (status: number, body: object = {}, headers: Record<string, string> = {}): Response => new Response(JSON.stringify(body), { status, headers });

test('paths are below the page, and names are escaped', async () => {
  const { c, asked } = client([ok({ type: 'Feature', id: 'way/1?' }, { ETag: '"r7"' })]);
  const { etag } = await c.place('a b', 'way/1?');
  expect(asked[0]!.url).toBe('https://example.org/places/collections/a%20b/items/way%2F1%3F');
  expect(etag).toBe('"r7"');
});

test('the key goes in a header, and no credentials of the browser do', async () => {
  const { c, asked } = client([ok({ collections: [] }), ok({ collections: [] })]);
  await c.collections();
  c.key = 'k1';
  await c.collections();
  expect(asked.map((a) => new Headers(a.init.headers).get('Authorization'))).toEqual([null, 'Bearer k1']);
  expect(asked.map((a) => a.init.credentials)).toEqual(['omit', 'omit']);
});

test('the next page keeps the query, wherever the server thinks it is', async () => {
  const { c, asked } = client([ok({ features: [], links: [] })]);
  const page = { features: [], links: [{ rel: 'next', href: 'http://inner:8080/collections/x/items?limit=2&filter=a%3D1&after=q' }] };
  await c.next('x', page);
  const url = new URL(asked[0]!.url);
  expect(url.origin + url.pathname).toBe('https://example.org/places/collections/x/items');
  expect(Object.fromEntries(url.searchParams)).toEqual({ limit: '2', filter: 'a=1', after: 'q', numberMatched: 'false' });
  expect(c.next('x', { features: [], links: [] })).toBeUndefined();
});

test('reads are repeated while the server is busy', async () => {
  const { c, asked, retries } = client([new TypeError('no route'), bad(503, {}, { 'Retry-After': '3' }), ok({ collections: [] })]);
  const done = c.collections();
  await vi.runAllTimersAsync();
  await done;
  expect(asked.length).toBe(3);
  expect(retries).toEqual([500, 3000, undefined]);
});

test('at last the error is shown', async () => {
  const { c, asked } = client(Array.from({ length: 4 }, () => bad(503, { detail: 'loading' })));
  const done = expect(c.collections()).rejects.toThrow('loading');
  await vi.runAllTimersAsync();
  await done;
  expect(asked.length).toBe(4);
});

test('what is wrong is asked once, and tells where', async () => {
  const { c, asked } = client([bad(400, { detail: 'column 3: "x"', parameter: 'filter', column: 3 })]);
  const error = await c.items('x', { filter: 'a x', limit: 1 }).catch((e: unknown) => e as Problem);
  expect(asked.length).toBe(1);
  expect(error).toMatchObject({ status: 400, parameter: 'filter', column: 3 });
});

test('401 asks for a key', async () => {
  const { c, keys } = client([bad(401)]);
  await expect(c.collections()).rejects.toThrow();
  expect(keys()).toBe(1);
});

test('writes say which state they are about, and are made once', async () => {
  const { c, asked } = client([new Response(null, { status: 204, headers: { ETag: '"r2"' } }), bad(412), bad(503)]);
  expect(await c.patch('x', 'f', '"r1"', { properties: { a: 1 } })).toBe('"r2"');
  await expect(c.remove('x', 'f', '"r1"')).rejects.toMatchObject({ status: 412 });
  await expect(c.patch('x', 'f', '"r1"', {})).rejects.toMatchObject({ status: 503 });
  expect(asked.map((a) => new Headers(a.init.headers).get('If-Match'))).toEqual(['"r1"', '"r1"', '"r1"']);
});

test('the id of a new feature is what its address says', async () => {
  const { c } = client([new Response(null, { status: 201, headers: { Location: 'http://inner/collections/x/items/node%2F5' } })]);
  expect(await c.create('x', {})).toBe('node/5');
});

test('errors in plain words', () => {
  expect(plain(new Problem(412, 'conflict'))).toBe('The place was changed meanwhile.');
  expect(plain(new Problem(400, 'parameter "limit" is "0"'))).toBe('Parameter "limit" is "0".');
  expect(plain(new TypeError('Failed to fetch'))).toBe('The server does not answer.');
});
