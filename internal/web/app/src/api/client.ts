// Requests to the server. All paths are relative to the page, which may lie behind a
// proxy at any address; links of the server are used for their queries alone.
import { isPassing, Problem, problemOf } from './problem';
import type { Collection, Page, Place, Queryables, State } from './types';

/** Times that a request is made, at most, if it may be repeated. */
const tries = 4;
/** The longest wait between two, in milliseconds. */
const longestWait = 8000;

export interface Hooks {
  /** Called when the server wants a key. */
  onKey(): void;
  /** Called before a request is repeated, with the wait in milliseconds; undefined: it succeeded. */
  onRetry(wait: number | undefined, error?: unknown): void;
}

/** What a search is for. */
export interface Search {
  filter?: string | undefined;
  limit: number;
  /** false: what matches is not counted. */
  count?: boolean;
}

export class Client {
  /** Key of the user; empty: none. */
  key = '';

  constructor(
    /** Address of the server, with a slash at its end. */
    readonly base: string,
    private readonly hooks: Hooks,
    private readonly send: typeof fetch = fetch.bind(globalThis),
  ) {}

  /** The address of a path of names, with a query. */
  at(names: string[], query?: URLSearchParams | Record<string, string>): string {
    const path = names.map(encodeURIComponent).join('/');
    const text = new URLSearchParams(query).toString();
    return new URL(text ? `${path}?${text}` : path, this.base).href;
  }

  /** Headers that say who asks. */
  headers(): Record<string, string> {
    return this.key ? { Authorization: `Bearer ${this.key}` } : {};
  }

  /**
   * Makes one request, as fetch does, with the key. Without credentials a browser
   * opens no password dialog of its own.
   */
  readonly fetch: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(this.headers())) headers.set(name, value);
    return this.send(input, { ...init, headers, credentials: 'omit' });
  };

  /** Reads, and tries again while the server is busy or does not answer. */
  async get(url: string, accept: string, signal?: AbortSignal): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await this.once(url, { headers: { Accept: accept }, cache: 'no-cache', ...(signal && { signal }) });
        if (attempt > 1) this.hooks.onRetry(undefined);
        return response;
      } catch (error) {
        if (!isPassing(error) || attempt === tries) throw error;
        const asked = error instanceof Problem ? (error.retryAfter ?? 0) * 1000 : 0;
        const wait = Math.min(longestWait, Math.max(asked, 500 * 2 ** (attempt - 1)));
        this.hooks.onRetry(wait, error);
        await pause(wait, signal);
      }
    }
  }

  /** One request; an answer that is an error is thrown. */
  private async once(url: string, init: RequestInit): Promise<Response> {
    const response = await this.fetch(url, init);
    if (response.ok) return response;
    const problem = await problemOf(response);
    if (problem.status === 401) this.hooks.onKey();
    throw problem;
  }

  private async json<T>(url: string, accept: string, signal?: AbortSignal): Promise<T> {
    return (await (await this.get(url, accept, signal)).json()) as T;
  }

  async collections(signal?: AbortSignal): Promise<Collection[]> {
    const all = await this.json<{ collections: Collection[] }>(this.at(['collections']), 'application/json', signal);
    return all.collections;
  }

  async queryables(collection: string, signal?: AbortSignal): Promise<Queryables> {
    const url = this.at(['collections', collection, 'queryables']);
    const schema = await this.json<{ properties: Record<string, { type?: string | string[] }> }>(url, 'application/schema+json', signal);
    const all: Queryables = new Map();
    for (const [name, { type }] of Object.entries(schema.properties)) {
      if (type !== undefined) all.set(name, Array.isArray(type) ? type : [type]);
    }
    return all;
  }

  /** The first page of a search. */
  items(collection: string, search: Search, signal?: AbortSignal): Promise<Page> {
    const query = new URLSearchParams({ limit: String(search.limit) });
    if (search.filter) query.set('filter', search.filter);
    if (search.count === false) query.set('numberMatched', 'false');
    return this.json<Page>(this.at(['collections', collection, 'items'], query), 'application/geo+json', signal);
  }

  /** The page behind one, undefined: it was the last. What matches is not counted again. */
  next(collection: string, page: Page, signal?: AbortSignal): Promise<Page> | undefined {
    const link = page.links.find((l) => l.rel === 'next');
    if (!link) return undefined;
    const query = new URL(link.href, this.base).searchParams;
    query.set('numberMatched', 'false');
    return this.json<Page>(this.at(['collections', collection, 'items'], query), 'application/geo+json', signal);
  }

  /** Features by distance from a point, the nearest first. */
  nearest(collection: string, point: [number, number], limit: number, filter?: string, signal?: AbortSignal): Promise<Page> {
    const query = new URLSearchParams({ point: point.join(','), limit: String(limit) });
    if (filter) query.set('filter', filter);
    return this.json<Page>(this.at(['collections', collection, 'nearest'], query), 'application/geo+json', signal);
  }

  async place(collection: string, id: string, signal?: AbortSignal): Promise<State> {
    const response = await this.get(this.at(['collections', collection, 'items', id]), 'application/geo+json', signal);
    return { place: (await response.json()) as Place, etag: response.headers.get('ETag') ?? '' };
  }

  /** Makes a new feature, and returns its id. A write is never repeated by itself. */
  async create(collection: string, feature: object): Promise<string> {
    const response = await this.once(this.at(['collections', collection, 'items']), {
      method: 'POST',
      headers: { 'Content-Type': 'application/geo+json' },
      body: JSON.stringify(feature),
    });
    const location = response.headers.get('Location') ?? '';
    return decodeURIComponent(new URL(location, this.base).pathname.split('/').pop() ?? '');
  }

  /** Changes a feature (RFC 7396) if it is still in the state of etag, and returns that of the new one. */
  async patch(collection: string, id: string, etag: string, change: object): Promise<string> {
    const response = await this.once(this.at(['collections', collection, 'items', id]), {
      method: 'PATCH',
      headers: { 'Content-Type': 'application/merge-patch+json', 'If-Match': etag },
      body: JSON.stringify(change),
    });
    return response.headers.get('ETag') ?? '';
  }

  /** Deletes a feature if it is still in the state of etag. */
  async remove(collection: string, id: string, etag: string): Promise<void> {
    await this.once(this.at(['collections', collection, 'items', id]), { method: 'DELETE', headers: { 'If-Match': etag } });
  }
}

/** Waits, and throws the signal's reason when it is given up. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
