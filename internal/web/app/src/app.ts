// The page: what its parts do together. The state that a link has is in State;
// everything else is gone with the page.
import { Client, pause } from './api/client';
import { isAbort, plain, Problem, problemOf } from './api/problem';
import type { BBox, Collection, State as FeatureState } from './api/types';
import { all, intersects } from './cql';
import { EngineRoom, hasEngine } from './engine';
import { namePropertyOf, titleOf } from './feature';
import { boxOf } from './geo';
import { Live, type Change } from './live';
import { basemap } from './map/basemap';
import { MapView, type Hit } from './map/view';
import { Pulse } from './pulse';
import { Searching } from './searching';
import { hashOf, stateOf, type State } from './state';
import { Values } from './suggest';
import { askKey, keptKey } from './ui/dialogs';
import { Details } from './ui/details';
import { byId, el } from './ui/dom';
import { FilterBox } from './ui/filterbox';
import { LiveList } from './ui/livelist';
import { note, say, type Note } from './ui/notes';
import { Panel } from './ui/panel';
import { themeSwitch } from './ui/theme';
import { Writing } from './writing';

/** Milliseconds in which changes are drawn together. */
const together = 250;
/** Milliseconds after the last move of the map until its new area is followed. */
const settled = 400;
/** Milliseconds after a key until what is written is looked for. */
const typing = 200;

export class App {
  private state: State = stateOf(location.hash);
  private collections: Collection[] = [];
  private readonly client = new Client(new URL('.', document.baseURI).href, {
    onKey: () => this.wantKey('This server wants a key.'),
    onRetry: (wait, error) => this.retrying(wait, error),
  });
  private readonly view: MapView;
  private readonly panel = new Panel((name) => this.go({ panel: name }, true));
  private readonly seen = new Values();
  private readonly filter = new FilterBox(this.seen, (text) => this.useFilter(text), (text) => this.learn(text));
  private readonly searching: Searching;
  private readonly details = new Details({
    onBack: () => this.closeFeature(),
    onZoom: () => this.zoomToOpen(),
    onEdit: () => this.open && this.writing.edit(this.open),
    onMove: () => this.open && void this.writing.move(this.open),
    onDelete: () => this.open && void this.writing.remove(this.open),
  });
  private readonly writing: Writing;
  private readonly pulse: Pulse;
  private readonly liveList = new LiveList((p) => this.pick(p.id));
  private readonly live = new Live(this.client, {
    onChange: (kind, place) => this.changed(kind, place),
    onReset: () => this.refreshSoon(),
    onState: (text) => this.liveList.setState(text),
  });

  /** The feature whose details are shown. */
  private open: FeatureState | undefined;
  private opening = new AbortController();
  private loading = new AbortController();
  private retryNote: Note | undefined;
  private refreshTimer = 0;
  private followTimer = 0;
  private liveOn = true;
  private askingKey = false;
  /** Whether the map has been put to where it is to be: before, its moves say nothing. */
  private placed = false;
  private readonly engine = new EngineRoom(this.client.fetch);
  private mapNote: Note | undefined;
  private wideNote: Note | undefined;
  private learning = new AbortController();
  /** The last filter that values were learnt by. */
  private learnt = '';
  private basemapGone = false;
  /** The element that had the focus before a feature was opened from it. */
  private cameFrom = '';

  /** Asked for before the map is made, which takes a browser a while. */
  private firstCollections: Promise<Collection[]> | undefined;

  constructor() {
    this.client.key = keptKey();
    this.firstCollections = this.client.collections();
    this.firstCollections.catch(() => undefined); // loadCollections tells it.
    const dark = themeSwitch((on) => this.view.setDark(on));
    this.view = new MapView(byId('map'), dark, this.state.view, {
      headers: (url) => (url.startsWith(this.client.base) ? this.client.headers() : undefined),
      onMove: () => this.moved(),
      onPick: (hit) => this.picked(hit),
      onError: (error, source) => (source === 'basemap' ? this.basemapFailed(error) : void this.mapFailed(error)),
    });
    this.pulse = new Pulse(this.view);
    this.searching = new Searching({
      client: this.client,
      view: this.view,
      panel: this.panel,
      asked: () => this.state,
      onOpen: (p) => this.go({ feature: p.id }, true),
      onPoint: (p) => this.view.show('selected', p ? [p] : this.open ? [this.open.place] : []),
      onBegin: () => {
        if (this.state.feature) this.go({ feature: '' }, true);
        this.panes('results');
      },
      extent: () => this.extent(),
      onFound: (places) => places.forEach((p) => this.seen.add(p.properties)),
      onFilterProblem: (problem) => this.filter.showProblem(problem),
    });
    this.writing = new Writing({
      client: this.client,
      view: this.view,
      collection: () => this.state.collection,
      known: () => this.filter.properties,
      onWritten: (id, gone) => this.written(id, gone),
      onShow: (id) => void this.openFeature(id),
      onCancel: () => this.backToDetails(),
      onForm: () => {
        this.panel.setOpen(true);
        this.panes('details');
      },
    });
    this.panel.follow(this.view);
    credit();
    this.listen();
  }

  /** Shows what the address says. */
  async start(): Promise<void> {
    this.panel.show(this.state.panel);
    this.engine.show(this.state.panel === 'engine');
    this.filter.value = this.state.filter;
    await this.loadCollections();
  }

  private listen(): void {
    addEventListener('popstate', () => void this.apply(stateOf(location.hash), true));
    byId<HTMLSelectElement>('collection').addEventListener('change', (e) => {
      const collection = (e.target as HTMLSelectElement).value;
      this.go({ collection, filter: '', feature: '', view: undefined }, true);
    });
    byId('collection-zoom').addEventListener('click', () => void this.goToCollection());
    byId('search-area').addEventListener('click', () => void this.searching.inView());
    byId('search-near').addEventListener('click', () => void this.searching.nearMe());
    byId('search-draw').addEventListener('click', () => void this.searching.inDrawn());
    byId('add').addEventListener('click', () => void this.writing.add());
    byId('key-open').addEventListener('click', () => void this.askForKey(''));
    const liveSwitch = byId('live-switch');
    liveSwitch.addEventListener('click', () => {
      this.liveOn = !this.liveOn;
      liveSwitch.setAttribute('aria-checked', String(this.liveOn));
      this.followView();
    });
    if (!hasEngine) this.panel.hideTabs();
  }

  // The state

  /** Changes the state; with push the back button leads to the one before. */
  private go(change: Partial<State>, push: boolean): void {
    const next = { ...this.state, ...change };
    if (push && hashOf(next) !== hashOf(this.state)) history.pushState(null, '', hashOf(next));
    void this.apply(next);
  }

  /** Makes the page show a state; one of the address says where the map is, too. */
  private async apply(next: State, ofAddress = false): Promise<void> {
    const before = this.state;
    this.state = next;
    this.panel.show(next.panel);
    this.engine.show(next.panel === 'engine');
    if (next.collection !== before.collection) {
      this.filter.value = next.filter;
      await this.showCollection();
      return;
    }
    if (next.filter !== before.filter) {
      this.filter.value = next.filter;
      await this.showTiles();
      this.followView();
      void this.searching.again();
    }
    if (next.feature !== before.feature) {
      if (next.feature) void this.openFeature(next.feature);
      else this.showList();
    }
    if (!ofAddress) return;
    if (!next.view) this.showExtent(false);
    else if (hashOf({ ...next, view: this.view.view() }) !== hashOf(next)) this.view.jump(next.view);
  }

  private moved(): void {
    if (!this.placed) return;
    if (this.view.nearEnough) this.wideNote?.close();
    this.state = { ...this.state, view: this.view.view() };
    history.replaceState(null, '', hashOf(this.state));
    clearTimeout(this.followTimer);
    this.followTimer = window.setTimeout(() => this.followView(), settled);
  }

  // Collections

  private async loadCollections(): Promise<void> {
    const select = byId<HTMLSelectElement>('collection');
    const first = this.firstCollections;
    this.firstCollections = undefined;
    try {
      this.collections = await (first ?? this.client.collections());
    } catch (error) {
      select.replaceChildren(el('option', {}, 'Not loaded'));
      void this.view.setTiles(undefined);
      if (!(error instanceof Problem && error.status === 401)) {
        note(`The collections could not be loaded. ${plain(error)}`, { error: true, action: { text: 'Try again', do: () => void this.loadCollections() } });
      }
      return;
    }
    select.disabled = this.collections.length === 0;
    if (this.collections.length === 0) {
      select.replaceChildren(el('option', {}, 'There are none'));
      void this.view.setTiles(undefined);
      return;
    }
    select.replaceChildren(
      ...this.collections.map((c) => el('option', { value: c.id }, (c.title || c.id) + (c.itemCount === undefined ? '' : ` (${c.itemCount.toLocaleString('en')})`))),
    );
    if (!this.collections.some((c) => c.id === this.state.collection)) {
      if (this.state.collection) note(`There is no collection “${this.state.collection}”.`, { error: true });
      // The first one that has something.
      const some = this.collections.find((c) => c.itemCount !== 0) ?? this.collections[0]!;
      this.state = { ...this.state, collection: some.id, filter: '', feature: '', view: undefined };
      this.filter.value = '';
    }
    await this.showCollection();
  }

  private collection(): Collection | undefined {
    return this.collections.find((c) => c.id === this.state.collection);
  }

  /** Where the collection has something; undefined: nowhere. */
  private extent(): BBox | undefined {
    return this.collection()?.extent?.spatial.bbox[0];
  }

  private showExtent(animate: boolean): void {
    const box = this.extent();
    if (box) this.view.fit(box, { animate, covered: this.panel.covers() });
  }

  /** Goes to where the collection has something now. */
  private async goToCollection(): Promise<void> {
    try {
      this.collections = await this.client.collections();
    } catch (error) {
      note(plain(error), { error: true });
      return;
    }
    this.panel.showMap();
    if (this.extent()) this.showExtent(true);
    else note('There is nothing in this collection to go to.');
  }

  private async showCollection(): Promise<void> {
    const c = this.collection();
    if (!c) return;
    byId<HTMLSelectElement>('collection').value = c.id;
    document.title = `${c.title || c.id} – Catfish`;
    byId('about').textContent = c.description ?? '';
    credit(c.attribution);
    this.searching.end();
    this.writing.abandon();
    this.opening.abort();
    this.open = undefined;
    this.view.show('selected', []);
    this.details.hide();
    this.panes('none');
    this.seen.clear();
    this.learning.abort();
    this.learnt = '';
    this.liveList.clear();
    this.filter.properties = new Map();
    this.placed = true;
    if (this.state.view) this.view.jump(this.state.view);
    else this.showExtent(false);
    history.replaceState(null, '', hashOf(this.state));
    this.loading.abort();
    const { signal } = (this.loading = new AbortController());
    try {
      this.filter.properties = await this.client.queryables(c.id, signal);
    } catch (error) {
      if (isAbort(error)) return;
      note(`Suggestions are missing. ${plain(error)}`, { error: true });
    }
    if (signal.aborted) return;
    await this.showTiles();
    if (this.state.feature) void this.openFeature(this.state.feature);
    // The rest does not take time from the first view.
    await this.view.drawn;
    if (signal.aborted) return;
    this.followView();
    await this.sample(c.id, signal);
  }

  /** Learns some values for suggestions. */
  private async sample(collection: string, signal: AbortSignal): Promise<void> {
    try {
      const page = await this.client.items(collection, { limit: 200, count: false }, signal);
      for (const p of page.features) this.seen.add(p.properties);
      this.filter.example = this.seen.example() ?? '';
    } catch {
      // Suggestions of values come from searches, too.
    }
  }

  /** A tile was refused for its filter: it is wrong, or would take too long. */
  private filterRefused(problem: Problem, url: string): void {
    if (new URL(url, this.client.base).searchParams.get('filter') !== this.state.filter) return; // It is another one by now.
    if (!problem.message.includes('too many')) {
      this.filter.showProblem(problem);
      return;
    }
    this.view.refused(url);
    if (!this.wideNote?.shown) this.wideNote = note('There are too many places here to show those of a filter. Zoom in to see them.', { action: { text: 'Zoom in', do: () => this.view.nearer() } });
  }

  /** Learns the values of what is in view and passes a filter, after a moment without another one. */
  private learn(filter: string): void {
    const asked = all(filter, intersects(this.view.bbox()));
    if (asked === this.learnt) return;
    this.learnt = asked;
    this.learning.abort();
    const { signal } = (this.learning = new AbortController());
    const { collection } = this.state;
    const look = async (): Promise<void> => {
      await pause(typing, signal);
      const page = await this.client.items(collection, { limit: 200, count: false, filter: asked }, signal);
      for (const p of page.features) this.seen.add(p.properties);
      this.filter.again();
    };
    look().catch(() => {
      if (this.learnt === asked) this.learnt = ''; // There are fewer suggestions, until it is asked again.
    });
  }

  private async showTiles(): Promise<void> {
    this.wideNote?.close();
    const { collection, filter } = this.state;
    const name = namePropertyOf((n) => this.filter.properties.has(n));
    const path = `${this.client.base}collections/${encodeURIComponent(collection)}/tiles/{z}/{x}/{y}.mvt`;
    const url = (query: Record<string, string>): string => `${path}?${new URLSearchParams(query)}`;
    const properties = name ?? '';
    await this.view.setTiles({
      url: url(filter ? { properties, filter } : { properties }),
      context: filter ? url({ properties: '' }) : undefined,
      layer: collection,
      name,
    });
  }

  // Filters

  private useFilter(text: string): void {
    if (text === this.state.filter) {
      void (this.searching.active ? this.searching.again() : this.searching.inView());
      return;
    }
    void this.tryFilter(text);
  }

  /** A filter is used once the server has taken it: a wrong one changes nothing. */
  private async tryFilter(text: string): Promise<void> {
    this.filter.showProblem(undefined);
    try {
      if (text) await this.client.items(this.state.collection, { filter: text, limit: 1, count: false });
    } catch (error) {
      if (error instanceof Problem && error.status === 400) this.filter.showProblem(error);
      else note(plain(error), { error: true });
      return;
    }
    const { searching } = this;
    if (text && !searching.active) searching.prepareView();
    if (!text && searching.isView) searching.end();
    this.go({ filter: text, feature: '' }, true);
  }

  // One feature

  private picked(hit: Hit): void {
    if (hit.kind === 'cluster') {
      this.view.go(hit.at, hit.zoom);
      return;
    }
    this.pick(hit.id);
  }

  /** Opens a feature, unless what is being written would be lost. */
  private pick(id: string): void {
    if (this.writing.busy) {
      note('Save or cancel what you are editing first.');
      return;
    }
    this.panel.setOpen(true);
    this.go({ feature: id, panel: 'places' }, true);
  }

  private async openFeature(id: string): Promise<void> {
    this.cameFrom = id;
    this.writing.abandon();
    this.opening.abort();
    const { signal } = (this.opening = new AbortController());
    try {
      const found = await this.client.place(this.state.collection, id, signal);
      this.open = found;
      this.seen.add(found.place.properties);
      this.details.show(found);
      this.view.show('selected', [found.place]);
      say(titleOf(found.place));
    } catch (error) {
      if (isAbort(error)) return;
      this.open = undefined;
      this.view.show('selected', []);
      this.details.missing(id, error instanceof Problem && error.status === 404 ? 'It is not here any more.' : plain(error));
    }
    this.panes('details');
    this.details.focus();
  }

  private closeFeature(): void {
    this.go({ feature: '' }, true);
  }

  /** Shows the list, or what there was, instead of a feature. */
  private showList(): void {
    this.opening.abort();
    this.open = undefined;
    this.view.show('selected', []);
    this.details.hide();
    const searched = this.searching.active;
    this.panes(searched ? 'results' : 'none');
    if (searched) this.searching.focus(this.cameFrom);
    else byId('panel').focus({ preventScroll: true });
  }

  private backToDetails(): void {
    if (this.open && this.state.feature) {
      this.details.show(this.open);
      this.details.focus();
      return;
    }
    this.details.hide();
    this.panes(this.searching.active ? 'results' : 'none');
    byId('add').focus();
  }

  /** Which of results and details is shown. */
  private panes(name: 'results' | 'details' | 'none'): void {
    byId('results').hidden = name !== 'results';
    byId('details').hidden = name !== 'details';
    byId('search').classList.toggle('small', name === 'details');
  }

  private zoomToOpen(): void {
    const box = boxOf(this.open?.place.geometry ?? null);
    if (!box) return;
    const [[w, s], [e, n]] = box;
    this.view.fit([w, s, e, n], { maxZoom: 17 });
    this.panel.showMap();
  }

  /** A feature was written by this page. */
  private written(id: string, gone: boolean): void {
    this.refreshSoon();
    if (gone) {
      this.searching.update(id, undefined);
      this.go({ feature: '' }, false);
      history.replaceState(null, '', hashOf(this.state));
      return;
    }
    if (this.state.feature === id) void this.openFeature(id);
    else this.go({ feature: id }, true);
  }

  // Live

  private followView(): void {
    const { collection, filter } = this.state;
    this.live.follow(this.liveOn && collection ? { collection, bbox: this.view.bbox(), filter } : undefined);
  }

  private changed(kind: string, place: Change): void {
    this.liveList.add(kind, place);
    this.pulse.add(place.geometry);
    this.searching.update(place.id, kind === 'exit' && place.why !== 'moved' ? undefined : place);
    if (this.open?.place.id === place.id && !this.writing.busy) {
      if (place.why === 'deleted' || place.why === 'expired') this.gone(place.id);
      else void this.openAgain(place.id);
    }
    this.refreshSoon();
  }

  /** The open feature was deleted by somebody else. */
  private gone(id: string): void {
    this.open = undefined;
    this.view.show('selected', []);
    this.details.missing(id, 'It was deleted meanwhile.');
  }

  /** Shows the open feature as it is now, and leaves the focus where it is. */
  private async openAgain(id: string): Promise<void> {
    try {
      const found = await this.client.place(this.state.collection, id);
      if (this.state.feature !== id || this.writing.busy) return;
      this.open = found;
      const focused = document.activeElement?.id;
      this.details.show(found);
      if (focused) document.getElementById(focused)?.focus();
      this.view.show('selected', [found.place]);
    } catch (error) {
      if (error instanceof Problem && error.status === 404 && this.state.feature === id) this.gone(id);
    }
  }

  /** Asks for the tiles again, once for all that changes within a moment. */
  private refreshSoon(): void {
    if (this.refreshTimer !== 0) return;
    this.refreshTimer = window.setTimeout(() => {
      this.refreshTimer = 0;
      this.view.refresh();
    }, together);
  }

  // Keys and errors

  private wantKey(why: string): void {
    if (!this.askingKey) void this.askForKey(why);
  }

  private async askForKey(why: string): Promise<void> {
    this.askingKey = true;
    const key = await askKey(why);
    this.askingKey = false;
    if (key === undefined || key === this.client.key) return;
    this.client.key = key;
    this.live.follow(undefined);
    await this.loadCollections();
  }

  private retrying(wait: number | undefined, error?: unknown): void {
    this.view.showLand();
    this.retryNote?.close();
    this.retryNote = wait === undefined ? undefined : note(`${plain(error)} Trying again in ${Math.max(1, Math.round(wait / 1000))} s.`, { error: true });
  }

  /** Places are shown without the base map, too: it is said once. */
  private basemapFailed(error: unknown): void {
    if (this.basemapGone || isAbort(error)) return;
    this.basemapGone = true;
    note('The base map could not be loaded, or only parts of it.');
  }

  /** A tile, or the map, failed; MapLibre's errors of requests have the answer. */
  private async mapFailed(error: unknown): Promise<void> {
    if (isAbort(error)) return;
    const { status, url, body } = error as { status?: number; url?: string; body?: Blob };
    if (status === 401) this.wantKey('This server wants a key.');
    else if (status === 400 && this.state.filter) this.filterRefused(await problemOf(new Response(body ?? null, { status })), url ?? '');
    else if (!this.mapNote?.shown) this.mapNote = note('Parts of the map could not be loaded.', { error: true, action: { text: 'Try again', do: () => this.view.refresh() } });
  }
}

/** Says whose data is on the map. */
function credit(places?: string): void {
  const link = el('a', { href: 'https://maplibre.org/', rel: 'noreferrer', target: '_blank' }, 'MapLibre');
  const ground = basemap ? `Map: ${basemap.credit} · ` : 'Land: Natural Earth · ';
  byId('credit').replaceChildren(places ? `${places} · ` : '', ground, link);
}
