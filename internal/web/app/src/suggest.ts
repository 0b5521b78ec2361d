// Suggestions for the filter box: names of properties where one may begin, what may
// follow a name, and values that were seen.
import type { Queryables } from './api/types';
import { nameText, tokens, valueText, words, type Token } from './cql';

export interface Suggestion {
  /** What takes the place of the text from `from` to `to`. */
  text: string;
  from: number;
  to: number;
  /** What it is, for people. */
  about: string;
}

/** The most suggestions that are made. */
const most = 8;

/** What is before the caret: the tokens that are written, and the one that is being written. */
function read(filter: string, caret: number): { last: Token | undefined; writing: Token | undefined; begun: string; place: Place } {
  const before = tokens(filter.slice(0, caret));
  const last = before.at(-1);
  // The word that is being written, if the caret is in one or behind it.
  const writing = last && last.to === caret && (last.kind !== 'text' || last.open) && last.kind !== 'sign' ? last : undefined;
  const done = writing ? before.slice(0, -1) : before;
  return { last, writing, begun: plainOf(writing), place: placeOf(done) };
}

/**
 * The filter of features that have values which could be suggested at a place of a filter;
 * undefined: no value is written there.
 */
export function wanted(filter: string, caret: number, properties: Queryables): string | undefined {
  const { begun, place } = read(filter, caret);
  if (place.at !== 'value') return undefined;
  const types = properties.get(place.name);
  if (!types) return undefined;
  const name = nameText(place.name);
  if (begun === '' || !types.includes('string')) return `${name} IS NOT NULL`;
  const pattern = begun.replaceAll("''", "'").replace(/[\\%_]/g, '\\$&');
  return `CASEI(${name}) LIKE CASEI(${valueText(pattern + '%')})`;
}

/** What is suggested at a place of a filter. */
export function suggest(filter: string, caret: number, properties: Queryables, seen: Values): Suggestion[] {
  const { last, writing, begun, place } = read(filter, caret);
  const from = writing?.from ?? caret;
  const make = (text: string, about: string): Suggestion => ({ text, from, to: caret, about });

  switch (place.at) {
    case 'operand': {
      const names = ranked([...properties.keys()], begun, seen).map((name) => make(nameText(name) + ' ', (properties.get(name) ?? []).join(', ')));
      const other = ['NOT ', 'S_INTERSECTS(geometry, ', 'S_DWITHIN(geometry, POINT('].filter((w) => begun !== '' && w.startsWith(begun.toUpperCase()));
      return [...names, ...other.map((w) => make(w, 'word'))].slice(0, most);
    }
    case 'operator': {
      const numeric = (properties.get(place.name) ?? []).some((t) => t === 'number' || t === 'integer');
      const all = numeric ? ['= ', '<> ', '< ', '> ', '<= ', '>= ', 'BETWEEN ', 'IN (', 'IS NULL '] : ['= ', '<> ', 'LIKE ', 'IN (', 'IS NULL '];
      return all.filter((w) => w.startsWith(begun.toUpperCase())).map((w) => make(w, abouts[w.trim()] ?? '')).slice(0, most);
    }
    case 'value': {
      const kept = seen.of(place.name).filter((v) => String(v).toLowerCase().startsWith(begun.toLowerCase()));
      return kept.slice(0, most).map((v) => make(valueText(v) + (place.list ? '' : ' '), ''));
    }
    case 'joiner':
      // Behind a value that ends here a space is missing.
      return ['AND ', 'OR '].filter((w) => w.startsWith(begun.toUpperCase())).map((w) => make((!writing && last?.to === caret ? ' ' : '') + w, abouts[w.trim()]!));
    default:
      return [];
  }
}

const abouts: Record<string, string> = {
  '=': 'is', '<>': 'is not', '<': 'less', '>': 'more', '<=': 'at most', '>=': 'at least', LIKE: 'text with % for anything',
  IN: 'one of', BETWEEN: 'from, to', 'IS NULL': 'has none', AND: 'both', OR: 'either',
};

/** A word that is being written, without its quotes. */
function plainOf(t: Token | undefined): string {
  return t ? t.text.replace(/^["']/, '').replace(/["']$/, '') : '';
}

type Place = { at: 'operand' | 'joiner' | 'none' } | { at: 'operator'; name: string } | { at: 'value'; name: string; list: boolean };

/** What may follow some tokens. */
function placeOf(done: Token[]): Place {
  const last = done.at(-1);
  if (!last) return { at: 'operand' };
  const word = last.text.toUpperCase();
  if (['AND', 'OR', 'NOT'].includes(word)) {
    const between = word === 'AND' && done.at(-3)?.text.toUpperCase() === 'BETWEEN';
    return between ? { at: 'none' } : { at: 'operand' };
  }
  const operators = ['=', '<>', '<', '>', '<=', '>=', 'LIKE'];
  if (operators.includes(word)) return { at: 'value', name: plainOf(done.at(-2)), list: false };
  if (last.text === '(' || last.text === ',') {
    const list = listOf(done);
    if (list !== undefined) return { at: 'value', name: list, list: true };
    return last.text === '(' && !words.has(done.at(-2)?.text.toUpperCase() ?? '') ? { at: 'operand' } : { at: 'none' };
  }
  if (last.kind === 'name' && !words.has(word)) {
    return operators.includes(done.at(-2)?.text ?? '') ? { at: 'joiner' } : { at: 'operator', name: plainOf(last) };
  }
  if (last.kind === 'text' || last.kind === 'number' || last.text === ')' || word === 'NULL' || word === 'TRUE' || word === 'FALSE') return { at: 'joiner' };
  return { at: 'none' };
}

/** The name whose list of values, name IN (a, b, is open at the end; undefined: none is. */
function listOf(done: Token[]): string | undefined {
  for (let i = done.length - 1; i > 1; i--) {
    const t = done[i]!;
    if (t.text === '(') return done[i - 1]!.text.toUpperCase() === 'IN' ? plainOf(done[i - 2]) : undefined;
    if (t.text !== ',' && t.kind !== 'text' && t.kind !== 'number') return undefined;
  }
  return undefined;
}

/** Names that fit what is written: those that begin so first, often seen ones first among them. */
function ranked(names: string[], begun: string, seen: Values): string[] {
  const low = begun.toLowerCase();
  const begins = (n: string): number => (n.toLowerCase().startsWith(low) ? 0 : 1);
  return names
    .filter((n) => n.toLowerCase().includes(low))
    .sort((a, b) => begins(a) - begins(b) || seen.count(b) - seen.count(a) || a.length - b.length || (a < b ? -1 : 1));
}

/** Values of properties that were seen in answers, the newest first. */
export class Values {
  private readonly all = new Map<string, unknown[]>();
  private readonly counts = new Map<string, number>();

  /** How many values are kept of a property, and of how many properties. */
  constructor(
    private readonly each = 40,
    private readonly properties = 400,
  ) {}

  add(of: Record<string, unknown> | null): void {
    for (const [name, value] of Object.entries(of ?? {})) {
      if (!this.counts.has(name) && this.counts.size >= this.properties) continue;
      this.counts.set(name, this.count(name) + 1);
      if (!['string', 'number', 'boolean'].includes(typeof value) || String(value).length > 60) continue;
      const kept = this.all.get(name)?.filter((v) => v !== value) ?? [];
      this.all.set(name, [value, ...kept].slice(0, this.each));
    }
  }

  of(name: string): unknown[] {
    return this.all.get(name) ?? [];
  }

  count(name: string): number {
    return this.counts.get(name) ?? 0;
  }

  /** A condition that many features fulfil; undefined: nothing was seen twice. */
  example(): string | undefined {
    let best: [name: string, value: unknown, score: number] | undefined;
    for (const [name, values] of this.all) {
      // What repeats itself says what a thing is; what is always different is a name.
      const repeats = this.count(name) / values.length;
      const score = values.length > 1 && repeats > 1 ? this.count(name) : 0;
      if (score > (best?.[2] ?? 0)) best = [name, values[0], score];
    }
    return best && `${nameText(best[0])} = ${valueText(best[1])}`;
  }

  clear(): void {
    this.all.clear();
    this.counts.clear();
  }
}
