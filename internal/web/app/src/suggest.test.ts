import { expect, test } from 'vitest';
import { all, intersects, nameText, tokens, valueText } from './cql';
import { suggest, Values, wanted } from './suggest';

const properties = new Map([['name', ['string']], ['amenity', ['string']], ['addr:city', ['string']], ['seats', ['number']]]);
const seen = new Values();
seen.add({ amenity: 'bar', name: "Joe's" });
seen.add({ amenity: 'cafe', seats: 12 });

/** Suggestions at the mark |, and the filter that the first makes. */
function at(marked: string): string[] {
  const caret = marked.indexOf('|');
  return suggest(marked.replace('|', ''), caret, properties, seen).map((s) => s.text.trim());
}

test.each([
  ['|', ['amenity', 'name', 'seats', '"addr:city"']],
  ['am|', ['amenity', 'name']],
  ['"addr|', ['"addr:city"']],
  ['n|', ['name', 'amenity', 'NOT']],
  ['amenity |', ['=', '<>', 'LIKE', 'IN (', 'IS NULL']],
  ['seats |', ['=', '<>', '<', '>', '<=', '>=', 'BETWEEN', 'IN (']],
  ['amenity = |', ["'cafe'", "'bar'"]],
  ["amenity = 'b|", ["'bar'"]],
  ["name = 'j|", ["'Joe''s'"]],
  ["amenity IN ('bar', |", ["'cafe'", "'bar'"]],
  ["amenity = 'bar' |", ['AND', 'OR']],
  ["amenity = 'bar' a|", ['AND']],
  ["amenity = 'bar' AND se|", ['seats']],
  ["(amenity = 'bar' OR se|", ['seats']],
  ['seats BETWEEN 1 AND |', []],
  ["amenity = 'bar'|", ['AND', 'OR']],
  ['S_INTERSECTS(|', []],
] as const)('%s', (marked, want) => {
  expect(at(marked)).toEqual(want);
});

test.each([
  ['amenity = |', 'amenity IS NOT NULL'],
  ["amenity = 'ca|", "CASEI(amenity) LIKE CASEI('ca%')"],
  ["name = 'Joe''s 5|", "CASEI(name) LIKE CASEI('Joe''s 5%')"],
  ["name = '5%_\\|", "CASEI(name) LIKE CASEI('5\\%\\_\\\\%')"],
  ["\"addr:city\" IN ('x', |", '"addr:city" IS NOT NULL'],
  ['seats > 1|', 'seats IS NOT NULL'],
  ['other = |', undefined],
  ['amenity |', undefined],
  ["amenity = 'bar'|", undefined],
] as const)('values are looked for at %s', (marked, want) => {
  const caret = marked.indexOf('|');
  expect(wanted(marked.replace('|', ''), caret, properties)).toBe(want);
});

test('a suggestion takes the place of what was begun', () => {
  const filter = "seats > 3 AND amenity = 'ca";
  const s = suggest(filter, filter.length, properties, seen)[0]!;
  expect(filter.slice(0, s.from) + s.text + filter.slice(s.to)).toBe("seats > 3 AND amenity = 'cafe' ");
});

test('a word behind a value is apart from it', () => {
  expect(suggest("amenity = 'bar'", 15, properties, seen).map((s) => s.text)).toEqual([' AND ', ' OR ']);
});

test('few values are kept, the newest', () => {
  const v = new Values(2, 2);
  for (const a of [1, 2, 3, 2]) v.add({ a, b: a, c: a, long: 'x'.repeat(99) });
  expect(v.of('a')).toEqual([2, 3]);
  expect(v.of('c')).toEqual([]);
});

test('an example is about what repeats itself', () => {
  const v = new Values();
  expect(v.example()).toBeUndefined();
  for (const [i, kind] of ['bar', 'cafe', 'bar'].entries()) v.add({ name: `n${i}`, kind, country: 'AD' });
  expect(v.example()).toBe("kind = 'bar'");
});

test('names and values of a filter', () => {
  expect(['name', 'addr:city', 'in', 'a"b', '1st', ''].map(nameText)).toEqual(['name', '"addr:city"', '"in"', '"a""b"', '"1st"', '""']);
  expect(["it's", 4.5, true].map(valueText)).toEqual(["'it''s'", '4.5', 'TRUE']);
  expect(intersects({ type: 'Polygon', coordinates: [[[0, 0], [1, 0], [1, 1], [0, 0]]] })).toBe('S_INTERSECTS(geometry,POLYGON((0 0,1 0,1 1,0 0)))');
  expect(all('', ' a = 1 ')).toBe('a = 1');
  expect(all('a = 1', 'b = 2 OR c = 3')).toBe('(a = 1) AND (b = 2 OR c = 3)');
});

test('tokens cover all but spaces, once', () => {
  for (const filter of [`a<>'it''s' AND "x ""y" >= 1.5 OR (b`, `'open`, `"`, `é=1;`, '']) {
    const covered = new Set<number>();
    for (const t of tokens(filter)) {
      expect(filter.slice(t.from, t.to)).toBe(t.text);
      for (let i = t.from; i < t.to; i++) {
        expect(covered.has(i)).toBe(false);
        covered.add(i);
      }
    }
    [...filter].forEach((c, i) => c.trim() !== '' && expect(covered.has(i), `${filter} at ${i}`).toBe(true));
  }
});
