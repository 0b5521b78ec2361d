// What a search has found: a list, page by page.
import type { Page, Place } from '../api/types';
import { distanceText } from '../geo';
import { kindOf, titleOf } from '../feature';
import { byId, el } from './dom';
import { say } from './notes';

export interface ResultsHooks {
  onOpen(place: Place): void;
  /** Somebody points at a place, or undefined at none. */
  onPoint(place: Place | undefined): void;
  onMore(): void;
  /** Nothing was found, and all of the collection is to be searched. */
  onEverywhere(): void;
  onClose(): void;
}

export class Results {
  places: Place[] = [];
  private matched: number | undefined;
  private readonly root = byId('results');
  private readonly title = byId('results-title');
  private readonly scope = byId('results-scope');
  private readonly list = byId('list');
  private readonly more = byId<HTMLButtonElement>('more');
  private readonly everywhere = byId<HTMLButtonElement>('everywhere');

  constructor(private readonly hooks: ResultsHooks) {
    this.more.addEventListener('click', () => hooks.onMore());
    this.everywhere.addEventListener('click', () => hooks.onEverywhere());
    byId('results-close').addEventListener('click', () => hooks.onClose());
  }

  get open(): boolean {
    return !this.root.hidden;
  }

  /** Shows that a search is under way. */
  wait(scope: string): void {
    this.root.hidden = false;
    this.root.setAttribute('aria-busy', 'true');
    this.title.textContent = 'Searching…';
    this.scope.textContent = scope;
    this.more.hidden = this.everywhere.hidden = true;
  }

  /** Shows the first page of a search; elsewhere: there may be more outside its area. */
  show(page: Page, more: boolean, elsewhere: boolean): void {
    this.places = [];
    this.matched = page.numberMatched;
    this.list.replaceChildren();
    this.append(page, more);
    this.everywhere.hidden = page.features.length > 0 || !elsewhere;
    // A phone has room for little else.
    if (matchMedia('(max-width: 700px)').matches) this.root.scrollIntoView({ block: 'start' });
    else byId('body').scrollTo({ top: 0 });
  }

  /** Adds a page to those that are shown. */
  append(page: Page, more: boolean): void {
    const first = this.places.length;
    this.places.push(...page.features);
    this.list.append(...page.features.map((p) => this.item(p)));
    this.more.hidden = !more;
    this.more.disabled = false;
    this.root.removeAttribute('aria-busy');
    const text = this.text();
    this.title.textContent = text;
    say(text);
    if (first > 0) this.list.children[first]?.querySelector('button')?.focus();
  }

  private text(): string {
    const n = this.places.length;
    const number = (x: number): string => x.toLocaleString('en');
    if (n === 0) return 'Nothing found';
    const places = (x: number): string => `${number(x)} ${x === 1 ? 'place' : 'places'}`;
    if (this.matched !== undefined && this.matched > n) return `${number(n)} of ${places(this.matched)}`;
    return places(n) + (this.more.hidden ? '' : ' so far');
  }

  private item(place: Place): HTMLElement {
    const open = (): void => this.hooks.onOpen(place);
    const point = (): void => this.hooks.onPoint(place);
    const leave = (): void => this.hooks.onPoint(undefined);
    const title = titleOf(place);
    const about = [kindOf(place), place.distance === undefined ? '' : distanceText(place.distance)].filter((t) => t !== '').join(' · ');
    const button = el('button', { type: 'button', 'data-id': place.id, click: open, mouseenter: point, mouseleave: leave, focus: point, blur: leave });
    button.append(el('span', { class: 'name' }, title), el('span', { class: 'soft' }, about));
    return el('li', {}, button);
  }

  /** Replaces a place that has changed; undefined: it is gone. */
  update(id: string, place: Place | undefined): void {
    const i = this.places.findIndex((p) => p.id === id);
    if (i < 0) return;
    const item = this.list.children[i]!;
    if (place) {
      this.places[i] = { ...place, ...(this.places[i]!.distance !== undefined && { distance: this.places[i]!.distance }) };
      item.replaceWith(this.item(this.places[i]!));
    } else {
      this.places.splice(i, 1);
      item.remove();
      if (this.matched !== undefined) this.matched--;
      this.title.textContent = this.text();
    }
  }

  failed(text: string): void {
    this.root.removeAttribute('aria-busy');
    this.title.textContent = 'The search failed';
    this.scope.textContent = text;
    this.list.replaceChildren();
    this.places = [];
  }

  busyMore(): void {
    this.more.disabled = true;
  }

  hide(): void {
    this.root.hidden = true;
    this.places = [];
    this.list.replaceChildren();
  }

  /** Moves the focus to a place of the list, or to its title. */
  focus(id?: string): void {
    const at = id === undefined ? undefined : this.list.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`);
    (at ?? this.title).focus({ preventScroll: at === undefined });
    at?.scrollIntoView({ block: 'nearest' });
  }
}
