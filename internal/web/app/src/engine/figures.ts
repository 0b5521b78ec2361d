// What is drawn of snapshots: sums, texts, and the paths of charts. Nothing here
// touches the page.
import type { Client, Snapshot, StoreMap } from './types';

/** All clients of a load together. */
export interface Total {
  messages: number;
  offloaded: number;
  reads: number;
  restarts: number;
  torn: number;
}

export function totalOf(clients: readonly Client[]): Total {
  const t: Total = { messages: 0, offloaded: 0, reads: 0, restarts: 0, torn: 0 };
  for (const c of clients) {
    t.messages += c.messages_per_second;
    t.offloaded += c.offloaded_per_second;
    t.reads += c.reads_per_second;
    t.restarts += c.restarts_per_second;
    t.torn += c.torn_reads_per_second;
  }
  return t;
}

/** The part that is offloaded, 0 to 1; 0 of nothing. */
export function shareOf(t: { messages: number; offloaded: number }): number {
  const all = t.messages + t.offloaded;
  return all > 0 ? t.offloaded / all : 0;
}

/** The histograms of all clients, added up. */
export function histogramOf(clients: readonly Client[]): number[] {
  const sum: number[] = [];
  for (const c of clients) c.histogram.forEach((n, i) => (sum[i] = (sum[i] ?? 0) + n));
  return sum;
}

/** The duration that a share q of the searches did not exceed, to a power of two of us; 0 of none. */
export function quantile(histogram: readonly number[], q: number): number {
  const all = histogram.reduce((a, b) => a + b, 0);
  if (all === 0) return 0;
  let seen = 0;
  for (const [i, n] of histogram.entries()) {
    seen += n;
    if (seen >= q * all) return 2 ** i;
  }
  return 2 ** (histogram.length - 1);
}

/** The bins from the first to the last that is not empty; at least so many. */
export function binsOf(histogram: readonly number[], least = 8): { from: number; counts: number[] } {
  const first = histogram.findIndex((n) => n > 0);
  if (first < 0) return { from: 4, counts: new Array<number>(least).fill(0) };
  let last = histogram.length - 1;
  while (histogram[last] === 0) last--;
  const from = Math.max(0, Math.min(first, histogram.length - least));
  return { from, counts: histogram.slice(from, Math.max(last + 1, from + least)) };
}

/** A rate or a count with at most three figures: 0.4, 31, 12.3 k, 4.56 M. */
export function short(n: number): string {
  if (!Number.isFinite(n)) return '–';
  for (const [unit, size] of [['M', 1e6], ['k', 1e3]] as const) {
    // What would be rounded up to the next unit has it.
    if (n >= size * 0.9995) return `${Number((n / size).toPrecision(3))} ${unit}`;
  }
  return n > 0 && n < 10 ? String(Number(n.toPrecision(2))) : String(Math.round(n));
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** Microseconds as people say them. */
export function duration(us: number): string {
  if (us >= 1e6) return `${Number((us / 1e6).toPrecision(3))} s`;
  if (us >= 1e3) return `${Number((us / 1e3).toPrecision(3))} ms`;
  return `${Number(us.toPrecision(3))} µs`;
}

/** A round number that is not less than n: 1, 2 or 5 times a power of ten. */
export function ceiling(n: number): number {
  if (!(n > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(n));
  for (const step of [1, 2, 5, 10]) if (step * power >= n) return step * power;
  return 10 * power;
}

/** A point of time: seconds before now, and a value from 0 to 1. */
export type Point = readonly [ago: number, value: number];

/** Where points are in a drawing of that size, which is so many seconds wide. */
function place([ago, value]: Point, seconds: number, width: number, height: number): string {
  const x = width * (1 - ago / seconds);
  const y = height * (1 - Math.min(1, Math.max(0, value)));
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}

/** More time than this between two snapshots is a gap. */
const gap = 3.5;

/** Points without gaps between them, the oldest first. */
function runs(points: readonly Point[]): Point[][] {
  const all: Point[][] = [];
  for (const p of points) {
    const run = all.at(-1);
    const last = run?.at(-1);
    if (run && last && last[0] - p[0] <= gap) run.push(p);
    else all.push([p]);
  }
  return all;
}

/** The path of a line through points. */
export function linePath(points: readonly Point[], seconds: number, width: number, height: number): string {
  return runs(points)
    .map((run) => 'M' + run.map((p) => place(p, seconds, width, height)).join('L'))
    .join('');
}

/** The path of the area from one line up to another, which have the same times. */
export function bandPath(low: readonly Point[], high: readonly Point[], seconds: number, width: number, height: number): string {
  const below = runs(low);
  return runs(high)
    .map((run, i) => {
      const back = [...(below[i] ?? [])].reverse();
      return 'M' + [...run, ...back].map((p) => place(p, seconds, width, height)).join('L') + 'Z';
    })
    .join('');
}

/** The snapshots of the last so many seconds. */
export class History {
  private all: { at: number; snapshot: Snapshot }[] = [];

  constructor(readonly seconds: number) {}

  push(snapshot: Snapshot): void {
    const at = Date.parse(snapshot.at) / 1000;
    // A server whose clock was set back begins anew.
    if (at < (this.all.at(-1)?.at ?? -Infinity)) this.all = [];
    this.all.push({ at, snapshot });
    this.all = this.all.filter((s) => at - s.at <= this.seconds);
  }

  get last(): Snapshot | undefined {
    return this.all.at(-1)?.snapshot;
  }

  get length(): number {
    return this.all.length;
  }

  /** A figure of each snapshot that has it, over the last one's time. */
  points(of: (s: Snapshot) => number | undefined): Point[] {
    const now = this.all.at(-1)?.at ?? 0;
    const points: Point[] = [];
    for (const { at, snapshot } of this.all) {
      const value = of(snapshot);
      if (value !== undefined) points.push([now - at, value]);
    }
    return points;
  }

  /** The largest of a figure; 0 of none. */
  most(of: (s: Snapshot) => number | undefined): number {
    return this.points(of).reduce((most, [, value]) => Math.max(most, value), 0);
  }
}

/** What moves from and to a group, in words. */
export function movesOf(map: StoreMap, group: string): string {
  const words = (parts: number, way: string, other: string, step: string): string => `${parts} ${way} ${other} (${step})`;
  return map.moves
    .filter((m) => m.from === group || m.to === group)
    .map((m) => (m.from === group ? words(m.parts, 'to', m.to, m.step) : words(m.parts, 'from', m.from, m.step)))
    .join('; ') || '–';
}
