import { expect, test } from 'vitest';
import { patchOf, propertiesOf, rowsOf, type Row } from './edit';
import type { Properties } from './api/types';

const known = new Map([['name', ['string']], ['seats', ['number']], ['open', ['boolean']], ['any', ['string', 'number']]]);

test('properties go through the form as they are', () => {
  const p = { name: '12', seats: 3, big: 1e21, open: false, none: null, list: [1, { a: 2 }], o: { x: 'y' }, text: ' a\nb ' };
  expect(propertiesOf(rowsOf(p), known)).toEqual(p);
});

test('what was changed keeps its type', () => {
  const changed = rowsOf({ name: 'x', seats: 3, open: false, list: [1] }).map((r): Row => ({ ...r, text: { name: '7', seats: '4', open: 'true', list: '[1,2]' }[r.name]! }));
  expect(propertiesOf(changed, known)).toEqual({ name: '7', seats: 4, open: true, list: [1, 2] });
});

test('new ones are of the type that others have', () => {
  const rows = [['name', '7'], ['seats', '7'], ['open', 'true'], ['any', '7'], ['new', '7'], ['code', '007'], ['new2', 'true'], ['', '']];
  expect(propertiesOf(rows.map(([name, text]) => ({ name: name!, text: text! })), known)).toEqual({ name: '7', seats: 7, open: true, any: 7, new: 7, code: '007', new2: true });
});

test('rows that cannot be taken', () => {
  expect(() => propertiesOf([{ name: '', text: 'x' }], known)).toThrow('needs a name');
  expect(() => propertiesOf([{ name: 'a', text: '' }, { name: ' a ', text: '' }], known)).toThrow('two properties “a”');
  expect(() => propertiesOf([{ name: 'l', text: '[1', was: [1] }], known)).toThrow('not JSON: it was a list');
});

/** RFC 7396, as the server applies it. */
function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const out: Properties = typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...(target as Properties) } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete out[name];
    else out[name] = merge(out[name], value);
  }
  return out;
}

test('a patch makes the one of the other', () => {
  const all: Properties[] = [{}, { a: 1 }, { a: '1', b: [1, 2] }, { a: { x: 1, y: { z: 2 } } }, { a: { x: 1 }, b: [2] }, { a: { y: { z: 3, w: 'q' } }, c: false }];
  for (const before of all) for (const after of all) expect(merge(before, patchOf(before, after))).toEqual(after);
  expect(patchOf({ a: 1, b: { c: 2 } }, { a: 1, b: { c: 2 } })).toEqual({});
});
