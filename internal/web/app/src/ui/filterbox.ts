// The filter box: a line of CQL2 text with suggestions (the combobox of ARIA's
// authoring practices), and where it is wrong.
import type { Problem } from '../api/problem';
import { sentence } from '../api/problem';
import type { Queryables } from '../api/types';
import { suggest, wanted, type Suggestion, type Values } from '../suggest';
import { byId, el } from './dom';

export class FilterBox {
  properties: Queryables = new Map();
  private readonly input = byId<HTMLInputElement>('filter');
  private readonly list = byId('suggestions');
  private readonly problem = byId('filter-problem');
  private readonly clearButton = byId<HTMLButtonElement>('filter-clear');
  private shown: Suggestion[] = [];
  private active = -1;
  /** Whether suggestions are wanted at the place where the caret is. */
  private wanting = false;

  constructor(
    private readonly seen: Values,
    /** The filter is to be used. */
    private readonly onApply: (filter: string) => void,
    /** Values are about to be written: those of features that pass a filter would help. */
    private readonly onWant: (filter: string) => void,
  ) {
    const { input } = this;
    byId('filter-form').addEventListener('submit', (e) => {
      e.preventDefault();
      this.apply();
    });
    input.addEventListener('input', () => this.open());
    input.addEventListener('click', () => this.open());
    input.addEventListener('blur', () => this.close());
    input.addEventListener('keydown', (e) => this.key(e));
    // A press must not take the focus from the box before its click.
    this.list.addEventListener('mousedown', (e) => e.preventDefault());
    this.list.addEventListener('click', (e) => {
      const item = (e.target as Element).closest('[role=option]');
      if (item) this.take([...this.list.children].indexOf(item));
    });
    this.clearButton.addEventListener('click', () => {
      this.value = '';
      input.focus();
      this.apply();
    });
  }

  get value(): string {
    return this.input.value.trim();
  }

  set value(filter: string) {
    this.input.value = filter;
    this.clearButton.hidden = filter === '';
    this.showProblem(undefined);
  }

  /** What a filter of this collection may be. */
  set example(filter: string) {
    this.input.placeholder = filter;
  }

  /** Shows what is wrong with the filter; undefined: nothing. */
  showProblem(problem: Problem | undefined): void {
    this.input.setAttribute('aria-invalid', String(problem !== undefined));
    if (!problem) {
      this.problem.replaceChildren();
      return;
    }
    // The text names the parameter and repeats its value, which stand above.
    const column = /column \d+: /.exec(problem.message);
    const text = sentence(column ? problem.message.slice(column.index + column[0].length) : problem.message);
    const at = problem.column;
    if (at === undefined) {
      this.problem.replaceChildren(text);
      return;
    }
    const characters = [...this.input.value];
    const from = Math.max(0, at - 13);
    const where = el('code', {}, (from > 0 ? '…' : '') + characters.slice(from, at - 1).join(''), el('mark', {}, characters[at - 1] ?? ' '), characters.slice(at, at + 12).join(''));
    this.problem.replaceChildren(`Column ${at}: ${text} `, where);
    const utf16 = characters.slice(0, at - 1).join('').length;
    this.input.setSelectionRange(utf16, utf16);
  }

  private apply(): void {
    this.close();
    this.onApply(this.value);
  }

  private key(e: KeyboardEvent): void {
    const open = this.shown.length > 0 && !this.list.hidden;
    switch (e.key) {
      case 'ArrowDown':
      case 'ArrowUp': {
        if (!open) this.open();
        const n = this.shown.length;
        const step = e.key === 'ArrowDown' ? 1 : -1;
        // One place more than there are suggestions is the box itself.
        if (n > 0) this.activate(((this.active + 1 + step + n + 1) % (n + 1)) - 1);
        break;
      }
      case 'Enter':
      case 'Tab':
        if (!open || this.active < 0) return;
        this.take(this.active);
        break;
      case 'Escape':
        if (!open) {
          this.wanting = false;
          return;
        }
        this.close();
        break;
      default:
        return;
    }
    e.preventDefault();
  }

  /** More values were seen. */
  again(): void {
    if (this.wanting && this.active < 0) this.suggest();
  }

  private open(): void {
    this.wanting = true;
    this.clearButton.hidden = this.input.value === '';
    this.suggest();
    const filter = wanted(this.input.value, this.caret, this.properties);
    if (filter) this.onWant(filter);
  }

  private get caret(): number {
    return this.input.selectionStart ?? this.input.value.length;
  }

  private suggest(): void {
    this.shown = suggest(this.input.value, this.caret, this.properties, this.seen);
    this.list.replaceChildren(
      ...this.shown.map((s, i) => el('li', { role: 'option', id: `suggestion-${i}`, 'aria-selected': 'false' }, el('code', {}, s.text.trim()), el('span', { class: 'soft' }, s.about))),
    );
    this.list.hidden = this.shown.length === 0;
    this.input.setAttribute('aria-expanded', String(!this.list.hidden));
    this.activate(-1);
  }

  private close(): void {
    this.wanting = false;
    this.list.hidden = true;
    this.input.setAttribute('aria-expanded', 'false');
    this.activate(-1);
  }

  private activate(i: number): void {
    this.active = i;
    [...this.list.children].forEach((item, at) => {
      item.setAttribute('aria-selected', String(at === i));
      if (at === i) item.scrollIntoView({ block: 'nearest' });
    });
    if (i >= 0) this.input.setAttribute('aria-activedescendant', `suggestion-${i}`);
    else this.input.removeAttribute('aria-activedescendant');
  }

  private take(i: number): void {
    const s = this.shown[i];
    if (!s) return;
    const { value } = this.input;
    this.input.value = value.slice(0, s.from) + s.text + value.slice(s.to);
    const caret = s.from + s.text.length;
    this.input.setSelectionRange(caret, caret);
    this.input.focus();
    this.open();
  }
}
