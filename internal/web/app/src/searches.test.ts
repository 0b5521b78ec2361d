import { expect, test } from 'vitest';
import type { Client, Search } from './api/client';
import { Problem } from './api/problem';
import { firstPage, problemIn, type Where } from './searches';

const view: Where = { kind: 'view', bbox: [177, -40, -177, 70] };
const drawn: Where = { kind: 'area', area: { type: 'Polygon', coordinates: [[[0, 0], [1, 0], [1, 1], [0, 0]]] } };

/** The filter that a search asks for. */
async function filterOf(where: Where, filter: string): Promise<string | undefined> {
  let asked: Search | undefined;
  const items = (_: string, search: Search): Promise<object> => Promise.resolve((asked = search));
  await firstPage({ items } as unknown as Client, 'places', where, filter, new AbortController().signal);
  return asked?.filter;
}

test('an area is asked for by the filter, which finds nothing without a geometry', async () => {
  expect(await filterOf(view, '')).toBe('S_INTERSECTS(geometry,BBOX(177,-40,-177,70))');
  expect(await filterOf(drawn, 'a = 1 OR b = 2')).toBe('(a = 1 OR b = 2) AND (S_INTERSECTS(geometry,POLYGON((0 0,1 0,1 1,0 0))))');
});

test.each([
  ['in what was written', view, 6, 5],
  ['right behind it', view, 8, 7],
  ['in what the page added', drawn, 9, undefined],
  ['of a search without an area', { kind: 'near', at: [0, 0], text: '' } as Where, 6, 6],
  ['nowhere', view, undefined, undefined],
])('a problem %s', (_, where, column, want) => {
  const problem = new Problem(400, 'no', 'filter', column, 3);
  expect(problemIn(problem, where, 'a = 1 ')).toMatchObject({ status: 400, parameter: 'filter', column: want, retryAfter: 3 });
});
