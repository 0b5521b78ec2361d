// Drawing on the map: a point, a line or an area, by mouse, finger or keyboard. Keys
// act where the map's middle is, which a cross shows: Enter sets a corner there.
import type { MapMouseEvent } from 'maplibre-gl';
import type { Geometry } from 'geojson';
import { crosses, polygonOf, round, wrap, type Corner } from '../geo';
import type { MapView } from './view';

export type Kind = 'Point' | 'LineString' | 'Polygon';

/** The fewest corners that make a shape. */
export const fewest: Record<Kind, number> = { Point: 1, LineString: 2, Polygon: 3 };
/** The most that are taken: a filter may be 32 KiB long. */
export const mostCorners = 500;
/** Pixels around the first corner in which a click closes an area. */
const closing = 12;

/** Corners that are being set. It has no map in it. */
export class Shape {
  corners: Corner[] = [];

  constructor(public kind: Kind) {}

  /** Sets a corner; a point has one, which moves. It reports whether there was room. */
  add(at: Corner): boolean {
    if (this.kind === 'Point') this.corners = [at];
    else if (this.corners.length < mostCorners && !same(this.corners.at(-1), at)) this.corners.push(at);
    return this.corners.length < mostCorners;
  }

  undo(): void {
    this.corners.pop();
  }

  /** Why it is no shape yet; undefined: it is one. */
  problem(): string | undefined {
    const missing = fewest[this.kind] - this.corners.length;
    if (missing > 0) return this.kind === 'Point' ? 'Set the point first.' : `Set ${missing} more ${missing === 1 ? 'corner' : 'corners'}.`;
    if (this.kind === 'Polygon' && crosses(this.corners)) return 'The edges of the area cross each other. Undo the last corner.';
    return undefined;
  }

  /** The shape as the server takes it. */
  geometry(): Geometry {
    if (this.kind === 'Polygon') return polygonOf(this.corners);
    const positions = this.corners.map(([lon, lat]) => [round(wrap(lon)), round(lat)]);
    return this.kind === 'Point' ? { type: 'Point', coordinates: positions[0]! } : { type: 'LineString', coordinates: positions };
  }

  /** What is drawn of it, with an edge to where the pointer is. */
  preview(pointer: Corner | undefined): { geometry: Geometry }[] {
    const all = pointer && this.kind !== 'Point' ? [...this.corners, pointer] : this.corners;
    const shapes: { geometry: Geometry }[] = this.corners.map((c) => ({ geometry: { type: 'Point', coordinates: c } }));
    if (this.kind === 'Polygon' && all.length > 2) shapes.push({ geometry: { type: 'Polygon', coordinates: [[...all, all[0]!]] } });
    else if (this.kind !== 'Point' && all.length > 1) shapes.push({ geometry: { type: 'LineString', coordinates: all } });
    return shapes;
  }
}

function same(a: Corner | undefined, b: Corner): boolean {
  return a?.[0] === b[0] && a[1] === b[1];
}

export interface DrawHooks {
  /** Corners were set or taken back. */
  onChange(): void;
  onFinish(): void;
  onCancel(): void;
}

/** Draws a shape until it is ended. */
export class Drawing {
  readonly shape: Shape;
  private pointer: Corner | undefined;

  constructor(
    private readonly view: MapView,
    kind: Kind,
    private readonly hooks: DrawHooks,
    /** What is shown of the shape; by default its corners and edges. */
    private readonly preview = (s: Shape, pointer: Corner | undefined): { geometry: Geometry }[] => s.preview(pointer),
  ) {
    this.shape = new Shape(kind);
    view.setPicking(false);
    view.map.doubleClickZoom.disable();
    view.map.on('click', this.click);
    view.map.on('dblclick', this.finish);
    view.map.on('mousemove', this.move);
    view.map.getCanvas().addEventListener('keydown', this.key);
  }

  /** Sets a corner in the middle of the map. */
  addCentre(): void {
    this.add(this.view.centre());
  }

  setKind(kind: Kind): void {
    this.shape.kind = kind;
    if (kind === 'Point') this.shape.corners = this.shape.corners.slice(-1);
    this.changed();
  }

  undo(): void {
    this.shape.undo();
    this.changed();
  }

  /** Ends it, and removes it from the map. */
  end(): void {
    const { map } = this.view;
    map.off('click', this.click);
    map.off('dblclick', this.finish);
    map.off('mousemove', this.move);
    map.getCanvas().removeEventListener('keydown', this.key);
    map.doubleClickZoom.enable();
    this.view.setPicking(true);
    this.view.show('draw', []);
  }

  private add(at: Corner): void {
    this.shape.add(at);
    this.changed();
  }

  private changed(): void {
    this.view.show('draw', this.preview(this.shape, this.pointer));
    this.hooks.onChange();
  }

  private readonly finish = (): void => {
    if (this.shape.kind !== 'Point') this.hooks.onFinish();
  };

  private readonly click = (e: MapMouseEvent): void => {
    const first = this.shape.corners[0];
    if (this.shape.kind === 'Polygon' && first && this.shape.corners.length >= fewest.Polygon) {
      const p = this.view.map.project(first);
      if (Math.hypot(p.x - e.point.x, p.y - e.point.y) < closing) {
        this.hooks.onFinish();
        return;
      }
    }
    this.add([e.lngLat.lng, e.lngLat.lat]);
  };

  private readonly move = (e: MapMouseEvent): void => {
    this.pointer = [e.lngLat.lng, e.lngLat.lat];
    this.view.show('draw', this.preview(this.shape, this.pointer));
  };

  private readonly key = (e: KeyboardEvent): void => {
    switch (e.key) {
      case 'Enter':
        this.addCentre();
        break;
      case 'Backspace':
        this.undo();
        break;
      case 'Escape':
        this.hooks.onCancel();
        break;
      default:
        return;
    }
    e.preventDefault();
  };
}
