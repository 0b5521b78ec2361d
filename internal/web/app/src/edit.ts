// Properties as rows of a form, and back.
import type { Properties, Queryables } from './api/types';
import { valueOf } from './feature';

export interface Row {
  name: string;
  text: string;
  /** What the feature had; undefined: the row is new. */
  was?: unknown;
}

/** A row that cannot be taken as it is. */
export class RowError extends Error {
  constructor(
    readonly row: number,
    message: string,
  ) {
    super(message);
  }
}

export function rowsOf(properties: Properties | null): Row[] {
  return Object.entries(properties ?? {}).map(([name, was]) => ({ name, text: valueOf(was), was }));
}

/** The properties of rows; rows without name and text are left out. */
export function propertiesOf(rows: Row[], known: Queryables): Properties {
  const all: Properties = {};
  rows.forEach((row, i) => {
    const name = row.name.trim();
    if (name === '' && row.text.trim() === '') return;
    if (name === '') throw new RowError(i, 'A property needs a name.');
    if (Object.hasOwn(all, name)) throw new RowError(i, `There are two properties “${name}”.`);
    all[name] = typed(row, name, i, known.get(name));
  });
  return all;
}

/**
 * The value that a row's text means. What was a text stays one; the collection's
 * other features say what a new one is; else a number is a number.
 */
function typed(row: Row, name: string, i: number, types: string[] | undefined): unknown {
  const { text, was } = row;
  if (was !== undefined && valueOf(was) === text) return was;
  if (typeof was === 'object' && was !== null) {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw new RowError(i, `“${name}” is not JSON: it was ${Array.isArray(was) ? 'a list' : 'an object'}.`);
    }
  }
  const may = (type: string): boolean => (was === undefined || was === null ? !types || types.includes(type) : typeof was === type);
  if ((may('number') || (was == null && types?.includes('integer'))) && /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text.trim())) return Number(text);
  if (may('boolean') && /^(true|false)$/.test(text.trim())) return text.trim() === 'true';
  return text;
}

/**
 * The merge patch (RFC 7396) that makes one object of another. A null inside an
 * object cannot be said in one: it means that the member goes.
 */
export function patchOf(before: Properties, after: Properties): Properties {
  const patch: Properties = {};
  for (const name of Object.keys(before)) if (!Object.hasOwn(after, name)) patch[name] = null;
  for (const [name, value] of Object.entries(after)) {
    const was = before[name];
    if (JSON.stringify(was) === JSON.stringify(value)) continue;
    patch[name] = isObject(was) && isObject(value) ? patchOf(was, value) : value;
  }
  return patch;
}

function isObject(v: unknown): v is Properties {
  return typeof v === 'object' && v !== null && !Array.isArray(v);
}
