// Small charts in SVG. They are pictures of what the texts and tables beside them
// say, so screen readers get a summary of each.
import { el } from '../ui/dom';
import { bandPath, linePath, type Point } from './figures';

const ns = 'http://www.w3.org/2000/svg';

export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Record<string, string | number> = {}): SVGElementTagNameMap[K] {
  const e = document.createElementNS(ns, tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, String(value));
  return e;
}

/** A line, or an area from the one before it up to this one. */
export interface Series {
  name: string;
  /** Of engine.css: s1 to s7. */
  colour: string;
  area: boolean;
}

const width = 480;
const height = 120;

/** Values over time. */
export class TimeChart {
  readonly root: HTMLElement;
  private readonly paths: SVGPathElement[];
  private readonly picture: SVGSVGElement;
  private readonly top: HTMLElement;
  private readonly now: HTMLElement[] = [];

  constructor(
    private readonly title: string,
    private readonly series: readonly Series[],
    private readonly seconds: number,
  ) {
    this.picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img' });
    for (const y of [0, 0.5, 1]) this.picture.append(svg('line', { class: 'grid', x1: 0, x2: width, y1: height * y, y2: height * y }));
    this.paths = series.map((s) => svg('path', { class: `${s.area ? 'area' : 'line'} ${s.colour}` }));
    this.picture.append(...this.paths);
    const legend = el('ul', { class: 'legend' });
    for (const s of series) {
      const value = el('b', {}, '–');
      this.now.push(value);
      legend.append(el('li', {}, el('i', { class: s.colour, 'aria-hidden': 'true' }), `${s.name} `, value));
    }
    this.top = el('span', { class: 'top', 'aria-hidden': 'true' });
    this.root = el('figure', { class: 'chart' }, el('figcaption', {}, title), legend,
      el('div', { class: 'plot' }, this.top, this.picture),
      el('div', { class: 'axis', 'aria-hidden': 'true' }, el('span', {}, `${seconds} s ago`), el('span', {}, 'now')));
  }

  /** Whether there is something to draw: an empty chart says nothing. */
  set shown(on: boolean) {
    this.root.hidden = !on;
  }

  /**
   * Draws points of each series, whose values are at most 1 there, with a text for
   * what is now and for 1. Areas are stacked: they have their sums.
   */
  draw(points: readonly (readonly Point[])[], now: readonly string[], top: string): void {
    this.paths.forEach((path, i) => {
      const s = this.series[i]!;
      const high = points[i] ?? [];
      const below = i > 0 && this.series[i - 1]!.area ? points[i - 1]! : high.map(([ago]) => [ago, 0] as const);
      path.setAttribute('d', s.area ? bandPath(below, high, this.seconds, width, height) : linePath(high, this.seconds, width, height));
    });
    now.forEach((text, i) => (this.now[i]!.textContent = text));
    this.top.textContent = top;
    this.picture.setAttribute('aria-label', `${this.title}, now: ${this.series.map((s, i) => `${s.name} ${now[i]}`).join(', ')}`);
  }
}

/** How many there are of each bin. */
export class Bars {
  readonly root: HTMLElement;
  private readonly picture: SVGSVGElement;
  private readonly axis: HTMLElement;

  constructor(private readonly title: string, note: string) {
    this.picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img' });
    this.axis = el('div', { class: 'axis', 'aria-hidden': 'true' });
    this.root = el('figure', { class: 'chart' }, el('figcaption', {}, title), el('p', { class: 'soft' }, note),
      el('div', { class: 'plot' }, this.picture), this.axis);
  }

  /** Whether there is something to draw. */
  set shown(on: boolean) {
    this.root.hidden = !on;
  }

  /** Draws the counts of bins, with the texts of the first, of one in the middle and of the last. */
  draw(counts: readonly number[], texts: readonly string[], summary: string): void {
    const most = Math.max(1, ...counts);
    const step = width / Math.max(1, counts.length);
    this.picture.replaceChildren(
      svg('line', { class: 'grid', x1: 0, x2: width, y1: height, y2: height }),
      ...counts.map((n, i) => {
        const h = n > 0 ? Math.max(1.5, (height * n) / most) : 0;
        return svg('rect', { class: 'bar', x: i * step + 1, width: Math.max(1, step - 2), y: height - h, height: h });
      }),
    );
    this.axis.replaceChildren(...texts.map((t) => el('span', {}, t)));
    this.picture.setAttribute('aria-label', `${this.title}: ${summary}`);
  }
}

/** The share of a client over time: offloaded on messages. */
export class Strip {
  readonly root = svg('svg', { class: 'strip', viewBox: '0 0 100 20', preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  private readonly messages = svg('path', { class: 'area s1' });
  private readonly offloaded = svg('path', { class: 'area s2' });

  constructor(private readonly seconds: number) {
    this.root.append(this.messages, this.offloaded);
  }

  draw(share: readonly Point[]): void {
    const at = (value: number): Point[] => share.map(([ago]) => [ago, value] as const);
    this.offloaded.setAttribute('d', bandPath(at(0), share, this.seconds, 100, 20));
    this.messages.setAttribute('d', bandPath(share, at(1), this.seconds, 100, 20));
  }
}
