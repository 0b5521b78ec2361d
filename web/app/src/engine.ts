// The engine room: how the server answers, in a panel of its own. It is loaded when
// its tab is opened first, so that the map does not wait for it.

/** What src/engine/index.ts exports. */
export interface Engine {
  /** Fills root, asks with the given fetch, and returns what ends it. */
  mountEngine(root: HTMLElement, opts: { fetch: typeof fetch }): () => void;
}

// The folder is looked up when the page is built: without it there is no tab.
const found = Object.values(import.meta.glob<Engine>('./engine/index.ts'))[0];

/** Loads the engine room; undefined: the page was built without it. */
export const loadEngine: (() => Promise<Engine>) | undefined = found;
