// The engine room: how the server answers, and clients that put it under load.
import './engine.css';
import { isAbort, plain, problemOf } from '../api/problem';
import { follow } from './stream';
import type { Info } from './types';
import { View } from './view';

/** Fills root, asks with the given fetch, and returns what ends it. */
export function mountEngine(root: HTMLElement, opts: { fetch: typeof fetch }): () => void {
  const over = new AbortController();
  const send = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const response = await opts.fetch(path, { ...init, signal: over.signal });
    if (!response.ok) throw await problemOf(response);
    return response;
  };
  const view = new View(root, {
    start: async (load) => {
      await send('engine/load', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(load) });
    },
    stop: async () => {
      await send('engine/load', { method: 'DELETE' });
    },
  });
  const failed = (error: unknown): void => {
    if (over.signal.aborted || isAbort(error)) return;
    view.say(`${plain(error)} The engine room is for who runs the server: where there are keys, it takes one with role admin of *.`, true);
  };
  const ask = async (): Promise<void> => view.info((await (await send('engine')).json()) as Info);
  let lost = false;
  void ask().catch(failed);
  void follow(opts.fetch, {
    snapshot: (s) => {
      if (lost) {
        lost = false;
        view.say('Connected again.');
        void ask().catch(failed); // The server may be another one.
      }
      view.snapshot(s);
    },
    lost: (error) => {
      lost = true;
      view.say(`${plain(error)} Trying again.`, true);
    },
    failed,
  }, over.signal);
  return () => {
    over.abort();
    view.close();
  };
}
