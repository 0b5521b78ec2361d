import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { follow } from './follow';
import { Problem } from './problem';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const stream = (text: string): Response => new Response(text, { status: 200 });

/** Follows a server that answers so, one after the other, and then no more. */
async function run(answers: (() => Response)[]): Promise<{ asked: Headers[]; events: string[]; waits: number; ended: unknown }> {
  const stop = new AbortController();
  const asked: Headers[] = [];
  const events: string[] = [];
  let waits = 0;
  const fetch = (_: unknown, init?: RequestInit): Promise<Response> => {
    asked.push(new Headers(init?.headers));
    const next = answers.shift();
    if (next) return Promise.resolve().then(next);
    stop.abort();
    return Promise.reject(new DOMException('gone', 'AbortError'));
  };
  const done = follow({ fetch: fetch as typeof globalThis.fetch }, 'x', { onEvent: (e) => events.push(e.data), onOpen: () => undefined, onWait: () => waits++ }, stop.signal).then(
    () => undefined,
    (error: unknown) => error,
  );
  await vi.runAllTimersAsync();
  return { asked, events, waits, ended: await done };
}

test('a stream that ends is resumed behind its last event', async () => {
  const r = await run([() => stream('id: 1\ndata: a\n\nid: 2\ndata: b\n\ndata: lost'), () => stream('id: 3\ndata: c\n\n')]);
  expect(r.events).toEqual(['a', 'b', 'c']);
  expect(r.asked.map((h) => h.get('Last-Event-ID'))).toEqual([null, '2', '3']);
  expect(r.waits).toBe(2);
  expect(r.ended).toBeUndefined();
});

test('a busy server is asked again, a refusal is not', async () => {
  const busy = (): Response => new Response('{"detail":"busy"}', { status: 503 });
  const no = (): Response => new Response('{"detail":"parameter bbox"}', { status: 400 });
  const r = await run([busy, busy, no]);
  expect(r.asked.length).toBe(3);
  expect(r.ended).toBeInstanceOf(Problem);
  expect((r.ended as Problem).message).toBe('parameter bbox');
});

test('204 ends it', async () => {
  const r = await run([() => new Response(null, { status: 204 }), () => stream('data: never\n\n')]);
  expect(r.asked.length).toBe(1);
  expect(r.events).toEqual([]);
});

test('the wait is the one that the server asks for', async () => {
  const set = vi.spyOn(globalThis, 'setTimeout');
  await run([() => stream('retry: 4321\n\n')]);
  expect(set.mock.calls.map((c) => c[1])).toContain(4321);
});
