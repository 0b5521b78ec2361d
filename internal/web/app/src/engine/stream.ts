// The server's snapshots, as long as somebody looks.
import { EventParser } from '../api/sse';
import { isAbort, isPassing, problemOf } from '../api/problem';
import type { Snapshot } from './types';

/** How a stream goes. */
export interface Listener {
  snapshot(s: Snapshot): void;
  /** The stream ended; it is asked for again. */
  lost(error: unknown): void;
  /** It cannot be had, and is not asked for again. */
  failed(error: unknown): void;
}

/** After how long it is asked for again, if the server does not say. */
const again = 2000;

/** Follows engine/events until the signal ends it. */
export async function follow(send: typeof fetch, to: Listener, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    let wait = again;
    try {
      const response = await send('engine/events', { headers: { Accept: 'text/event-stream' }, signal });
      if (!response.ok || !response.body) throw await problemOf(response);
      const parser = new EventParser((event) => {
        if (event.type === 'snapshot') to.snapshot(JSON.parse(event.data) as Snapshot);
      });
      const text = response.body.pipeThrough(new TextDecoderStream()).getReader();
      try {
        for (;;) {
          const { done, value } = await text.read();
          if (done) break;
          parser.push(value);
          wait = parser.retry ?? again;
        }
      } finally {
        void text.cancel().catch(() => undefined); // It has ended, or nobody wants more.
      }
      to.lost(new TypeError('the stream ended'));
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      if (!isPassing(error)) {
        to.failed(error);
        return;
      }
      to.lost(error);
    }
    await pause(wait, signal);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      done();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
