// A stream of events that is resumed when it ends: what EventSource does, with a key.
import type { Client } from './client';
import { pause } from './client';
import { isAbort, isPassing, problemOf } from './problem';
import { EventParser, type ServerEvent } from './sse';

export interface Follower {
  onEvent(event: ServerEvent): void;
  /** The stream stands. */
  onOpen(): void;
  /** It ended, and is asked for again. */
  onWait(error: unknown): void;
}

/** The longest wait before the stream is asked for again, in milliseconds. */
const longestWait = 30_000;
/** The wait after the first end, unless the server says another. */
const firstWait = 1000;

/**
 * Follows a stream until the signal is aborted: then it returns. It throws when the
 * server refuses it for good.
 */
export async function follow(client: Pick<Client, 'fetch'>, url: string, f: Follower, signal: AbortSignal): Promise<void> {
  let lastEventId = '';
  let failures = 0;
  let asked: number | undefined;
  while (!signal.aborted) {
    try {
      const headers: Record<string, string> = { Accept: 'text/event-stream' };
      if (lastEventId) headers['Last-Event-ID'] = lastEventId;
      const response = await client.fetch(url, { headers, cache: 'no-store', signal });
      if (response.status === 204) return; // The server wants nobody to come back.
      if (!response.ok) throw await problemOf(response);
      const parser = new EventParser((event) => {
        failures = 0;
        f.onEvent(event);
      });
      f.onOpen();
      try {
        await read(response, parser);
      } finally {
        if (parser.lastEventId) lastEventId = parser.lastEventId;
        asked = parser.retry ?? asked;
      }
      throw new TypeError('the stream ended');
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      if (!isPassing(error)) throw error;
      f.onWait(error);
      const wait = Math.min(longestWait, (asked ?? firstWait) * 2 ** failures++);
      await pause(wait, signal).catch(() => undefined);
    }
  }
}

async function read(response: Response, parser: EventParser): Promise<void> {
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    parser.push(decoder.decode(value, { stream: true }));
  }
}
