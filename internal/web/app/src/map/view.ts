// The map: MapLibre with the land, a collection's tiles and what the page puts on it.
import { Map as GLMap, NavigationControl, prewarm, ScaleControl, setWorkerUrl, type GeoJSONSource, type LayerSpecification, type MapMouseEvent, type PaddingOptions, type SourceSpecification } from 'maplibre-gl';
import workerUrl from 'maplibre-gl/dist/maplibre-gl-worker.mjs?url';
import type { Feature, FeatureCollection, Geometry } from 'geojson';
import type { BBox } from '../api/types';
import { bboxOfView, type Corner } from '../geo';
import type { View } from '../state';
import { byId } from '../ui/dom';
import { amount, amountText, around } from './amount';
import { basemap } from './basemap';
import { expectLand, landSource } from './land';
import { basemapLayers, contextLayers, countryLabels, groundLayers, heatLayer, overlayLayers, overlays, placeLayers, type Overlay } from './layers';
import { dark, light, type Palette } from './palette';

setWorkerUrl(workerUrl);
prewarm(); // It starts while the map is made.

/** What tiles are of. */
export interface Tiles {
  /** With {z}, {x} and {y}. */
  url: string;
  /** The same without a filter; undefined: there is none. */
  context: string | undefined;
  layer: string;
  /** The property that features are called by. */
  name: string | undefined;
}

/** What is under a pointer. */
export type Hit = { kind: 'place'; id: string } | { kind: 'cluster'; at: Corner; zoom: number };

export interface ViewHooks {
  /** Headers of requests for tiles of this server; undefined: the address is of another one. */
  headers(url: string): Record<string, string> | undefined;
  /** The view has come to rest. */
  onMove(): void;
  /** Somebody chose something, when nothing is drawn. */
  onPick(hit: Hit): void;
  /** The map, or a tile of a source, failed. */
  onError(error: unknown, source: string | undefined): void;
}

/** Layers that can be chosen, the topmost first. */
const pickable = ['places-cluster', 'places-point', 'places-line', 'places-area'];
const tileSources = ['places', 'context'];
/** Tiles of greater zooms show no more: those of this one are drawn larger. */
const mostZoom = 18;
/** Pixels around a box that is shown. */
const fitEdge = 32;
/** Pixels around a pointer in which something is chosen. */
const reach = 6;

export class MapView {
  readonly map: GLMap;
  private tiles: Tiles | undefined;
  private palette: Palette;
  private readonly data = new Map<Overlay, FeatureCollection>();
  private picking = true;
  /** What is to be the padding when the map has come to rest. */
  private padding: PaddingOptions | undefined;
  /** Whether there is a style, or one is loading. */
  private styled = false;
  /** The least zoom of tiles that are asked for. */
  private least = 0;
  private readonly tip = byId('tip');

  constructor(
    container: HTMLElement,
    dark_: boolean,
    view: View | undefined,
    private readonly hooks: ViewHooks,
  ) {
    this.palette = dark_ ? dark : light;
    // It has no style yet: nothing is drawn, only to be drawn over, before it is known
    // where to look and at what (setTiles).
    this.map = new GLMap({
      container,
      center: view ? [view.lon, view.lat] : [10, 25],
      zoom: view?.zoom ?? 1.2,
      maxZoom: 22,
      maxPitch: 0,
      dragRotate: false,
      pitchWithRotate: false,
      attributionControl: false,
      fadeDuration: 0,
      // Keys and trust: tiles are asked for as all else is. Kept ones are asked for
      // again, which costs a 304: what is on the map is never stale. Another server gets
      // no key.
      transformRequest: (url, type) => {
        const headers = type === 'Tile' ? this.hooks.headers(url) : undefined;
        return headers ? { url, headers, cache: 'no-cache' } : { url };
      },
      locale: { 'Map.Title': 'Map of the collection' },
    });
    this.map.touchZoomRotate.disableRotation();
    this.map.keyboard.disableRotation();
    this.map.addControl(new NavigationControl({ showCompass: false }), 'top-right');
    this.map.addControl(new ScaleControl({ maxWidth: 90 }), 'bottom-right');
    this.map.on('moveend', () => this.hooks.onMove());
    let drawn = (): void => undefined;
    this.drawn = new Promise((resolve) => (drawn = resolve));
    // Everything in view is drawn, until something moves or comes.
    this.map.on('idle', () => {
      if (performance.getEntriesByName('drawn').length === 0) performance.mark('drawn');
      drawn();
      container.removeAttribute('aria-busy');
    });
    for (const busy of ['movestart', 'dataloading'] as const) this.map.on(busy, () => container.setAttribute('aria-busy', 'true'));
    this.map.on('error', (e) => this.hooks.onError(e.error, (e as { sourceId?: string }).sourceId));
    this.map.on('click', (e) => {
      const hit = this.picking && this.hit(e);
      if (hit) this.hooks.onPick(hit);
    });
    this.map.on('mousemove', (e) => {
      const hit = this.picking ? this.hit(e) : undefined;
      if (this.picking) this.map.getCanvas().style.cursor = hit ? 'pointer' : '';
      this.tell(hit?.kind === 'cluster' ? e.point : undefined);
    });
    for (const gone of ['mouseout', 'movestart'] as const) this.map.on(gone, () => this.tell(undefined));
    this.ready = new Promise((resolve) => this.map.once('style.load', () => resolve()));
  }

  /** Resolved when all that is in the first view is drawn. */
  readonly drawn: Promise<void>;

  /** Resolved when there is a style whose sources may be filled. */
  readonly ready: Promise<void>;

  private hit(e: MapMouseEvent): Hit | undefined {
    if (!this.styled) return undefined;
    const layers = pickable.filter((id) => this.map.getLayer(id));
    if (layers.length === 0) return undefined;
    const { x, y } = e.point;
    const near = this.map.queryRenderedFeatures([[x - reach, y - reach], [x + reach, y + reach]], { layers });
    const at = (layer: string): (typeof near)[number] | undefined => near.find((f) => f.layer.id === layer);
    const f = pickable.map(at).find((one) => one !== undefined);
    if (!f) return undefined;
    if (f.layer.id === 'places-cluster') {
      const point = f.geometry.type === 'Point' ? (f.geometry.coordinates as Corner) : ([e.lngLat.lng, e.lngLat.lat] as Corner);
      return { kind: 'cluster', at: point, zoom: Math.min(this.map.getZoom() + 2, 20) };
    }
    const id: unknown = f.properties['id'];
    return id === undefined ? undefined : { kind: 'place', id: String(id) };
  }

  /** Says beside a pointer how many places are around it; undefined: nothing. */
  private tell(at: { x: number; y: number } | undefined): void {
    this.tip.hidden = !at;
    if (!at) return;
    const layers = ['places-cluster', 'places-point'].filter((id) => this.map.getLayer(id));
    this.tip.textContent = amountText(amount(this.map.queryRenderedFeatures([[at.x - around, at.y - around], [at.x + around, at.y + around]], { layers })));
    this.tip.style.left = `${at.x}px`;
    this.tip.style.top = `${at.y}px`;
  }

  /** Whether features can be chosen; not while something is drawn. */
  setPicking(on: boolean): void {
    this.picking = on;
    this.map.getCanvas().style.cursor = on ? '' : 'crosshair';
  }

  /** Shows the tiles of a collection instead of those before; undefined: the land alone. */
  async setTiles(tiles: Tiles | undefined): Promise<void> {
    this.least = 0;
    if (!this.styled) {
      this.styled = true;
      this.tiles = tiles;
      if (!basemap) expectLand(this.view());
      this.map.setStyle({
        version: 8,
        sources: { ...(basemap ? { basemap: basemap.source } : { land: landSource }), ...this.tileSources() },
        layers: [...this.ground(), ...this.heat(), ...this.labels(), ...this.tileLayers()],
      });
      return;
    }
    await this.ready;
    this.replaceTiles(tiles);
  }

  /** The server refuses a tile of that address: those of its zoom are not asked for any more. */
  refused(url: string): void {
    const zoom = Number(/\/tiles\/(\d+)\//.exec(url)?.[1] ?? NaN);
    if (!(zoom >= this.least) || zoom >= mostZoom || !this.tiles) return;
    this.least = zoom + 1;
    this.replaceTiles(this.tiles);
  }

  /** Whether tiles are asked for where the map is. */
  get nearEnough(): boolean {
    return this.map.getZoom() >= this.least;
  }

  private replaceTiles(tiles: Tiles | undefined): void {
    for (const l of this.map.getStyle().layers) if (/^(places|context)-/.test(l.id)) this.map.removeLayer(l.id);
    for (const source of tileSources) if (this.map.getSource(source)) this.map.removeSource(source);
    this.tiles = tiles;
    for (const [id, source] of Object.entries(this.tileSources())) this.map.addSource(id, source);
    const above = this.lowest(overlays);
    for (const l of this.heat()) this.map.addLayer(l, this.labels()[0]?.id ?? above);
    for (const l of this.tileLayers()) this.map.addLayer(l, above);
  }

  /** Shows the land, if nothing is shown yet: what else there is takes a while. */
  showLand(): void {
    if (!this.styled) void this.setTiles(undefined);
  }

  private tileSources(): Record<string, SourceSpecification> {
    const { tiles } = this;
    if (!tiles) return {};
    const source = (url: string, minzoom: number): SourceSpecification => ({ type: 'vector', tiles: [url], minzoom, maxzoom: mostZoom });
    return { ...(tiles.context && { context: source(tiles.context, 0) }), places: source(tiles.url, this.least) };
  }

  private ground(): LayerSpecification[] {
    return basemap ? basemapLayers(this.palette) : groundLayers(this.palette);
  }

  private labels(): LayerSpecification[] {
    return basemap ? [] : [countryLabels(this.palette)];
  }

  /** The layer of the tiles that lies under the names of countries. */
  private heat(): LayerSpecification[] {
    return this.tiles ? [heatLayer(this.palette, this.tiles.layer)] : [];
  }

  /** The other layers of the tiles that are shown. */
  private tileLayers(): LayerSpecification[] {
    const { tiles, palette } = this;
    if (!tiles) return [];
    return [...(tiles.context ? contextLayers(palette, tiles.layer) : []), ...placeLayers(palette, tiles.layer, tiles.name)];
  }

  /** Asks for the tiles in view again. */
  refresh(): void {
    if (!this.styled) return;
    for (const source of tileSources) if (this.map.getSource(source)) this.map.refreshTiles(source);
  }

  /** Puts features on an overlay in place of those before. */
  show(overlay: Overlay, features: { geometry: Geometry | null; properties?: Record<string, unknown> | null }[]): void {
    const shown = features
      .filter((f): f is typeof f & { geometry: Geometry } => f.geometry !== null)
      .map((f): Feature => ({ type: 'Feature', geometry: f.geometry, properties: f.properties ?? {} }));
    this.data.set(overlay, { type: 'FeatureCollection', features: shown });
    void this.ready.then(() => this.fill(overlay));
  }

  /** An overlay is there from when it has something: sources take time even if they are empty. */
  private fill(overlay: Overlay): void {
    const data = this.data.get(overlay)!;
    const source = this.map.getSource<GeoJSONSource>(overlay);
    if (source) source.setData(data);
    else if (data.features.length > 0) {
      const above = this.lowest(overlays.slice(overlays.indexOf(overlay) + 1));
      this.map.addSource(overlay, { type: 'geojson', data });
      for (const l of overlayLayers(this.palette)) if (l.source === overlay) this.map.addLayer(l, above);
    }
  }

  /** The lowest layer of some overlays; undefined: they have none. */
  private lowest(of: readonly Overlay[]): string | undefined {
    return overlayLayers(this.palette).find((l) => of.includes(l.source) && this.map.getLayer(l.id))?.id;
  }

  /** Changes all colours. */
  setDark(on: boolean): void {
    this.palette = on ? dark : light;
    void this.ready.then(() => {
      const layers = [...this.ground(), ...this.heat(), ...this.labels(), ...this.tileLayers(), ...overlayLayers(this.palette)];
      for (const l of layers) {
        if (!this.map.getLayer(l.id)) continue; // an overlay that has had nothing yet
        for (const [name, value] of Object.entries(l.paint ?? {})) this.map.setPaintProperty(l.id, name as 'line-color', value as string);
      }
    });
  }

  /** Pixels at the edges that the panel covers. What is moving comes to where it goes before. */
  setPadding(padding: { left: number; bottom: number; top?: number; right?: number }): void {
    const waits = this.padding !== undefined;
    this.padding = { top: 0, right: 0, ...padding };
    if (!this.map.isMoving()) this.pad();
    else if (!waits) this.map.once('moveend', () => this.pad());
  }

  /** Sets the padding that waits. MapLibre ends what moves when it gets one. */
  private pad(): void {
    const { padding } = this;
    this.padding = undefined;
    if (padding) this.map.setPadding(padding);
  }

  view(): View {
    const { lng, lat } = this.map.getCenter();
    return { zoom: this.map.getZoom(), lat, lon: lng };
  }

  /** The middle of what is not covered. */
  centre(): Corner {
    const { lng, lat } = this.map.getCenter();
    return [lng, lat];
  }

  /** The box of what is not covered, as the server takes one. */
  bbox(): BBox {
    const { clientWidth: w, clientHeight: h } = this.map.getContainer();
    const { left = 0, right = 0, top = 0, bottom = 0 } = this.map.getPadding();
    const sw = this.map.unproject([left, h - bottom]);
    const ne = this.map.unproject([w - right, top]);
    return bboxOfView(sw.lng, sw.lat, ne.lng, ne.lat);
  }

  /**
   * Shows a box, or goes to a point, at once if people want no motion. The box lies
   * above what is covered at the bottom, in pixels, beside the padding.
   */
  fit([west, south, east, north]: BBox, options: { animate?: boolean; maxZoom?: number; covered?: number } = {}): void {
    const right = east < west ? east + 360 : east;
    // On the smallest windows something is left to see the box in.
    const covered = Math.max(0, Math.min(options.covered ?? 0, this.map.getContainer().clientHeight - 3 * fitEdge));
    this.map.fitBounds([[west, Math.max(south, -85)], [right, Math.min(north, 85)]], {
      padding: { top: fitEdge, left: fitEdge, right: fitEdge, bottom: fitEdge + covered },
      maxZoom: options.maxZoom ?? 16,
      ...(options.animate === false ? { animate: false } : { duration: 600 }),
    });
  }

  go(at: Corner, zoom?: number): void {
    this.map.easeTo({ center: at, ...(zoom !== undefined && { zoom }), duration: 500 });
  }

  /** Goes two zooms nearer. */
  nearer(): void {
    this.go(this.centre(), this.map.getZoom() + 2);
  }

  jump(view: View): void {
    this.map.jumpTo({ center: [view.lon, view.lat], zoom: view.zoom });
  }
}
