// Live updates of what is in view: one stream, which is asked for anew when the view,
// the filter or the collection changes.
import type { Client } from './api/client';
import { follow } from './api/follow';
import { plain } from './api/problem';
import type { BBox, Place } from './api/types';

/** An event of a feature: as it is now, or, if it is gone, as it was. */
export type Change = Place & { revision: number; why?: string };

export interface LiveHooks {
  onChange(kind: string, place: Change): void;
  /** Events were lost: what is shown may be old. */
  onReset(): void;
  onState(text: string): void;
}

/** What is followed. */
export interface Area {
  collection: string;
  bbox: BBox;
  filter: string;
}

export class Live {
  private stop: AbortController | undefined;
  private area = '';

  constructor(
    private readonly client: Client,
    private readonly hooks: LiveHooks,
  ) {}

  /** Follows an area from now on instead of that before; undefined: none. */
  follow(area: Area | undefined): void {
    const text = JSON.stringify([area, this.client.key]);
    if (text === this.area && this.stop && !this.stop.signal.aborted) return;
    this.area = text;
    this.stop?.abort();
    this.stop = undefined;
    if (!area) {
      this.hooks.onState('off');
      return;
    }
    const stop = (this.stop = new AbortController());
    const query: Record<string, string> = { bbox: area.bbox.join(',') };
    if (area.filter) query['filter'] = area.filter;
    const url = this.client.at(['collections', area.collection, 'events'], query);
    // What the first stream of an area begins with is known: it was just shown.
    follow(
      this.client,
      url,
      {
        onOpen: () => this.hooks.onState('on'),
        onWait: (error) => this.hooks.onState(`waiting: ${plain(error)}`),
        onEvent: (e) => this.take(e.type, e.data),
      },
      stop.signal,
    ).then(
      () => stop.signal.aborted || this.hooks.onState('ended'),
      (error: unknown) => {
        stop.abort();
        this.hooks.onState(`off: ${plain(error)}`);
      },
    );
  }

  private take(type: string, data: string): void {
    switch (type) {
      case 'enter':
      case 'inside':
      case 'changed':
      case 'exit':
        this.hooks.onChange(type, JSON.parse(data) as Change);
        break;
      case 'reset':
        this.hooks.onReset();
        break;
    }
  }
}
