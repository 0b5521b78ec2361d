// The engine room: how the server answers, in a panel of its own. It is loaded when
// its tab is opened first, so that the map does not wait for it.
import { plain } from './api/problem';
import { byId } from './ui/dom';
import { note } from './ui/notes';

/** What src/engine/index.ts exports. */
export interface Engine {
  /** Fills root, asks with the given fetch, and returns what ends it. */
  mountEngine(root: HTMLElement, opts: { fetch: typeof fetch }): () => void;
}

// The folder is looked up when the page is built: without it there is no tab.
const load = Object.values(import.meta.glob<Engine>('./engine/index.ts'))[0];

/** Whether the page was built with it. */
export const hasEngine = load !== undefined;

export class EngineRoom {
  private wanted = false;
  private unmount: (() => void) | undefined;

  constructor(private readonly fetch: typeof globalThis.fetch) {}

  /** Shows it, or ends it. */
  show(on: boolean): void {
    if (on === this.wanted) return;
    this.wanted = on;
    if (on) void this.mount();
    else {
      this.unmount?.();
      this.unmount = undefined;
    }
  }

  private async mount(): Promise<void> {
    try {
      const engine = await load?.();
      if (engine && this.wanted && !this.unmount) this.unmount = engine.mountEngine(byId('engine'), { fetch: this.fetch });
    } catch (error) {
      this.wanted = false;
      note(`The engine room could not be loaded. ${plain(error)}`, { error: true });
    }
  }
}
