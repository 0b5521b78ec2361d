// Rings around what has just changed, which grow and fade.
import type { Geometry } from 'geojson';
import { middleOf } from './geo';
import type { MapView } from './map/view';

/** Milliseconds that a ring is there. */
const lasts = 2400;
/** The most rings at the same time. */
const most = 50;

export class Pulse {
  private rings: { at: [number, number]; since: number }[] = [];
  private running = false;
  private readonly still = matchMedia('(prefers-reduced-motion: reduce)');

  constructor(private readonly view: MapView) {}

  add(geometry: Geometry | null): void {
    const at = middleOf(geometry);
    if (!at) return;
    this.rings = [...this.rings.slice(1 - most), { at, since: performance.now() }];
    if (!this.running) this.step();
  }

  private readonly step = (): void => {
    const now = performance.now();
    this.rings = this.rings.filter((r) => now - r.since < lasts);
    this.view.show(
      'live',
      this.rings.map((r) => ({ geometry: { type: 'Point', coordinates: r.at }, properties: { left: this.still.matches ? 0.6 : 1 - (now - r.since) / lasts } })),
    );
    this.running = this.rings.length > 0;
    if (!this.running) return;
    if (this.still.matches) setTimeout(this.step, lasts);
    else requestAnimationFrame(this.step);
  };
}
