// The land behind the places: vector tiles that come with the page (scripts/land.mjs),
// of which a file has many. A file is asked for when one of its tiles is.
import { addProtocol } from 'maplibre-gl';
import { wrap } from '../geo';
import type { View } from '../state';
import { deepest, unpack, whereIs } from './landpack';

const addresses = import.meta.glob<string>('../generated/land/*.bin', { query: '?url', import: 'default', eager: true });

/** Layers of the tiles: land, borders (coasts are where land ends), labels. */
export const landSource = { type: 'vector' as const, tiles: ['land://{z}/{x}/{y}'], maxzoom: deepest };

const files = new Map<string, Promise<ArrayBuffer>>();

function load(name: string): Promise<ArrayBuffer> {
  let file = files.get(name);
  if (!file) {
    file = fetchFile(addresses[`../generated/land/${name}.bin`]!);
    files.set(name, file);
    file.catch(() => files.delete(name)); // The next tile asks again.
  }
  return file;
}

async function fetchFile(url: string): Promise<ArrayBuffer> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`the land: status ${response.status}`);
  return response.arrayBuffer();
}

/** Asks for the file of what is around a place, which the map will want first. */
export function expectLand({ zoom, lat, lon }: View): void {
  const z = Math.min(deepest, Math.max(0, Math.floor(zoom)));
  const y = 0.5 - Math.asinh(Math.tan((lat * Math.PI) / 180)) / (2 * Math.PI);
  const tile = (part: number): number => Math.min(2 ** z - 1, Math.max(0, Math.floor(part * 2 ** z)));
  load(whereIs(z, tile((wrap(lon) + 180) / 360), tile(y)).file).catch(() => undefined); // The map asks again.
}

addProtocol('land', async ({ url }) => {
  const [z, x, y] = url.slice('land://'.length).split('/').map(Number) as [number, number, number];
  const { file, at } = whereIs(z, x, y);
  return { data: unpack(await load(file), at) };
});
