// What happens while the page is open.
import type { Place } from '../api/types';
import { titleOf } from '../feature';
import { byId, el } from './dom';
import { say } from './notes';

/** How many happenings are shown. */
const most = 12;
/** Milliseconds in which happenings are said together. */
const together = 1500;

const verbs: Record<string, string> = { enter: 'is new here', inside: 'moved', changed: 'changed', exit: 'is gone' };
const reasons: Record<string, string> = { moved: 'moved away', deleted: 'was deleted', expired: 'has expired', filtered: 'matches no more' };

export class LiveList {
  private readonly list = byId('events');
  private readonly state = byId('live-state');
  private count = 0;
  private timer = 0;

  constructor(private readonly onOpen: (place: Place) => void) {}

  setState(text: string): void {
    this.state.textContent = text;
  }

  add(kind: string, place: Place & { why?: string }): void {
    const verb = (kind === 'exit' && reasons[place.why ?? '']) || verbs[kind] || kind;
    const gone = kind === 'exit' && (place.why === 'deleted' || place.why === 'expired');
    const name = gone ? el('span', { class: 'name' }, titleOf(place)) : el('button', { type: 'button', class: 'link', click: () => this.onOpen(place) }, titleOf(place));
    this.list.prepend(el('li', { class: kind }, name, ` ${verb} `, el('time', { class: 'soft' }, new Date().toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' }))));
    while (this.list.children.length > most) this.list.lastElementChild?.remove();
    this.count++;
    const last = `${titleOf(place)} ${verb}`;
    if (this.timer === 0) {
      this.timer = window.setTimeout(() => {
        say(this.count === 1 ? last : `${this.count} changes here`);
        this.count = this.timer = 0;
      }, together);
    }
  }

  clear(): void {
    this.list.replaceChildren();
  }
}
