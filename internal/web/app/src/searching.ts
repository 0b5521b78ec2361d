// The search that people have made: where, what it has found, and its list.
import type { Client } from './api/client';
import { isAbort, plain, Problem } from './api/problem';
import type { BBox, Page, Place } from './api/types';
import { boxAround, polygonOf, positionText } from './geo';
import type { MapView } from './map/view';
import { firstPage, position, problemIn, whereText, type Where } from './searches';
import { note, say } from './ui/notes';
import type { Panel } from './ui/panel';
import { Results } from './ui/results';
import { draw } from './ui/tool';

export interface SearchHooks {
  client: Client;
  view: MapView;
  panel: Panel;
  /** What is searched in, and by which filter. */
  asked(): { collection: string; filter: string };
  onOpen(place: Place): void;
  onPoint(place: Place | undefined): void;
  /** A search begins: its list is to be shown. */
  onBegin(): void;
  onFound(places: Place[]): void;
  onFilterProblem(problem: Problem): void;
  /** Where the collection has something; undefined: nowhere. */
  extent(): BBox | undefined;
}

export class Searching {
  private where: Where | undefined;
  private page: Page | undefined;
  private running = new AbortController();
  private readonly results: Results;

  constructor(private readonly h: SearchHooks) {
    this.results = new Results({ onOpen: h.onOpen, onPoint: h.onPoint, onMore: () => void this.more(), onEverywhere: () => void this.everywhere(), onClose: () => this.end() });
  }

  /** Whether there is a search. */
  get active(): boolean {
    return this.where !== undefined;
  }

  /** Whether it is of what the map showed. */
  get isView(): boolean {
    return this.where?.kind === 'view';
  }

  /** The next search is of what the map shows now. */
  prepareView(): void {
    this.where = { kind: 'view', bbox: this.h.view.bbox() };
  }

  async inView(): Promise<void> {
    await this.search({ kind: 'view', bbox: this.h.view.bbox() });
  }

  async nearMe(): Promise<void> {
    const { view } = this.h;
    say('Looking for your position…');
    const here = await position();
    const at = here ?? view.centre();
    const text = here ? 'Nearest to you' : `Nearest to the middle of the map (${positionText(at)}), as your position is not known`;
    await this.search({ kind: 'near', at, text });
    if (this.where?.kind !== 'near' || this.where.at !== at) return; // Another search is under way.
    const { places } = this.results;
    if (places.length === 0 && !here) return; // The map is there.
    // Not their geometries: the country around a place may be as near as its houses.
    const far = Math.max(0, ...places.map((p) => p.distance ?? 0));
    view.fit(boxAround(at, far), { covered: this.h.panel.covers() });
  }

  /** Goes to the collection, and searches in all of it. */
  private async everywhere(): Promise<void> {
    const bbox = this.h.extent();
    if (!bbox) return;
    this.h.view.fit(bbox, { covered: this.h.panel.covers() });
    await this.search({ kind: 'view', bbox });
  }

  /** Whether a search elsewhere may find more. */
  private get mayBeElsewhere(): boolean {
    const extent = this.h.extent();
    return extent !== undefined && this.where?.kind !== 'near' && !(this.where?.kind === 'view' && this.where.bbox.join() === extent.join());
  }

  async inDrawn(): Promise<void> {
    this.h.panel.showMap();
    const shape = await draw(this.h.view, { kind: 'Polygon', text: 'Click the corners of the area to search in.', finish: 'Search' });
    if (shape) await this.search({ kind: 'area', area: polygonOf(shape.corners) });
  }

  /** Searches once more, in the same place. */
  async again(): Promise<void> {
    if (this.where) await this.search(this.where);
  }

  end(): void {
    this.running.abort();
    this.where = this.page = undefined;
    this.results.hide();
    this.mark();
  }

  /** A place has changed; undefined: it is gone, or matches no more. */
  update(id: string, place: Place | undefined): void {
    if (!this.where) return;
    this.results.update(id, place);
    this.mark();
  }

  focus(id: string): void {
    this.results.focus(id);
  }

  private async search(where: Where): Promise<void> {
    const { h } = this;
    this.where = where;
    this.running.abort();
    const { signal } = (this.running = new AbortController());
    const { collection, filter } = h.asked();
    h.onBegin();
    h.panel.setOpen(true);
    this.results.wait(whereText(where, filter));
    try {
      const page = await firstPage(h.client, collection, where, filter, signal);
      this.page = page;
      h.onFound(page.features);
      this.results.show(page, hasNext(page), this.mayBeElsewhere);
      this.mark();
      this.results.focus();
    } catch (error) {
      if (isAbort(error)) return;
      if (error instanceof Problem && error.parameter === 'filter' && filter) h.onFilterProblem(problemIn(error, where, filter));
      this.results.failed(plain(error));
      say(`The search failed. ${plain(error)}`);
    }
  }

  private async more(): Promise<void> {
    if (!this.page) return;
    const { signal } = this.running;
    this.results.busyMore();
    try {
      const page = await this.h.client.next(this.h.asked().collection, this.page, signal);
      if (!page) return;
      this.page = page;
      this.h.onFound(page.features);
      this.results.append(page, hasNext(page));
      this.mark();
    } catch (error) {
      if (!isAbort(error)) note(plain(error), { error: true, action: { text: 'Try again', do: () => void this.more() } });
    }
  }

  /** Marks on the map what was found, and where. */
  private mark(): void {
    this.h.view.show('found', this.results.places);
    this.h.view.show('draw', this.where?.kind === 'area' ? [{ geometry: this.where.area }] : []);
  }
}

function hasNext(page: Page): boolean {
  return page.links.some((l) => l.rel === 'next');
}
