import { expect, test } from 'vitest';
import { bandPath, binsOf, ceiling, duration, History, histogramOf, linePath, movesOf, quantile, shareOf, short, totalOf } from './figures';
import type { Client, Snapshot } from './types';

function client(name: string, messages: number, offloaded: number, histogram: number[] = []): Client {
  return {
    name, transport: 'shm', policy: 'cost', messages_per_second: messages, offloaded_per_second: offloaded, fell_back_per_second: 0,
    offloaded_share: shareOf({ messages, offloaded }), reads_per_second: 3 * offloaded, restarts_per_second: 1, torn_reads_per_second: 2, p50_us: 1, p99_us: 2, histogram,
  };
}

function snapshot(second: number, clients: Client[] = [], cpu = 0.5): Snapshot {
  return {
    at: new Date(1e12 + second * 1000).toISOString(), seconds: 1, load: null, clients,
    server: { cpu, own_cpu: cpu / 2, busy: 0, waiting: 0, transports: [], services: [] },
  };
}

test('sums of clients', () => {
  const two = [client('a', 10, 30, [1, 2]), client('b', 0, 60, [0, 0, 5])];
  expect(totalOf(two)).toEqual({ messages: 10, offloaded: 90, reads: 270, restarts: 2, torn: 4 });
  expect(shareOf(totalOf(two))).toBe(0.9);
  expect(shareOf(totalOf([]))).toBe(0);
  expect(histogramOf(two)).toEqual([1, 2, 5]);
});

test('quantiles of a histogram', () => {
  const h = [0, 50, 49, 1];
  expect(quantile(h, 0.5)).toBe(2);
  expect(quantile(h, 0.99)).toBe(4);
  expect(quantile(h, 1)).toBe(8);
  expect(quantile([0, 0], 0.5)).toBe(0);
});

test('the bins that are drawn', () => {
  expect(binsOf([0, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0], 4)).toEqual({ from: 2, counts: [3, 4, 0, 0] });
  expect(binsOf([0, 0, 0, 0, 0, 7], 4)).toEqual({ from: 2, counts: [0, 0, 0, 7] });
  expect(binsOf([1, 0, 0, 0, 0, 7], 4)).toEqual({ from: 0, counts: [1, 0, 0, 0, 0, 7] });
  expect(binsOf([0, 0], 4).counts).toEqual([0, 0, 0, 0]);
});

test('texts of numbers', () => {
  for (const [n, want] of [[0, '0'], [0.44, '0.44'], [3.14, '3.1'], [31.4, '31'], [999.4, '999'], [999.6, '1 k'], [12345, '12.3 k'], [999999, '1 M'], [4.56e6, '4.56 M'], [NaN, '–']] as const) expect(short(n)).toBe(want);
  for (const [us, want] of [[0, '0 µs'], [12.34, '12.3 µs'], [2048, '2.05 ms'], [1.5e6, '1.5 s']] as const) expect(duration(us)).toBe(want);
  for (const [n, want] of [[0, 1], [-3, 1], [1, 1], [1.1, 2], [3, 5], [51, 100], [0.3, 0.5]] as const) expect(ceiling(n)).toBeCloseTo(want, 12);
});

test('lines and bands', () => {
  const line = [[10, 0], [9, 0.5], [8, 2]] as const;
  expect(linePath(line, 10, 100, 20)).toBe('M0.0 20.0L10.0 10.0L20.0 0.0');
  // Where snapshots are missing there is no line.
  expect(linePath([[10, 0], [9, 0], [2, 1], [1, 1]], 10, 100, 20)).toBe('M0.0 20.0L10.0 20.0M80.0 0.0L90.0 0.0');
  expect(linePath([], 10, 100, 20)).toBe('');
  expect(bandPath([[1, 0], [0, 0.5]], [[1, 1], [0, 1]], 1, 10, 10)).toBe('M0.0 0.0L10.0 0.0L10.0 5.0L0.0 10.0Z');
});

test('the history is of the last seconds', () => {
  const h = new History(10);
  expect(h.last).toBeUndefined();
  for (let s = 0; s <= 20; s++) h.push(snapshot(s, s % 2 ? [client('a', s, 0)] : [], s / 20));
  expect(h.length).toBe(11);
  expect(h.points((s) => s.server.cpu)[0]).toEqual([10, 0.5]);
  expect(h.points((s) => s.clients[0]?.messages_per_second).map(([ago]) => ago)).toEqual([9, 7, 5, 3, 1]);
  expect(h.most((s) => s.clients[0]?.messages_per_second)).toBe(19);
  h.push(snapshot(3)); // The server's clock was set back.
  expect(h.length).toBe(1);
});

test('moves in words', () => {
  const map = {
    version: 3, epoch: 1, groups: [],
    moves: [{ from: 'a', to: 'b', step: 'copy', parts: 12 }, { from: 'a', to: 'c', step: 'freeze', parts: 1 }],
  };
  expect(movesOf(map, 'a')).toBe('12 to b (copy); 1 to c (freeze)');
  expect(movesOf(map, 'b')).toBe('12 from a (copy)');
  expect(movesOf(map, 'd')).toBe('–');
});
