// Decodes vector tiles with @mapbox/vector-tile, and prints what is in them as JSON,
// in the order of the arguments.
//
// usage: tiles.mjs URL...

import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';

const kinds = ['Unknown', 'Point', 'LineString', 'Polygon'];

const found = [];
for (const url of process.argv.slice(2)) {
  const answer = await fetch(url);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const [z, x, y] = url.match(/(\d+)\/(\d+)\/(\d+)\.mvt/).slice(1).map(Number);
  const layers = {};
  if (answer.ok && bytes.length > 0) {
    for (const [name, layer] of Object.entries(new VectorTile(new PbfReader(bytes)).layers)) {
      const features = [];
      for (let i = 0; i < layer.length; i++) {
        const f = layer.feature(i);
        // Both decode all of the geometry.
        const rings = f.loadGeometry();
        const { geometry } = f.toGeoJSON(x, y, z);
        features.push({
          id: f.properties.id ?? '',
          cluster: f.properties.cluster === true,
          points: f.properties.point_count ?? 0,
          kind: kinds[f.type],
          properties: f.properties,
          outside: rings.flat().filter((p) => Math.min(p.x, p.y) < -64 || Math.max(p.x, p.y) > layer.extent + 64).length,
          geometry,
        });
      }
      layers[name] = { version: layer.version, extent: layer.extent, features };
    }
  }
  found.push({ status: answer.status, type: answer.headers.get('content-type'), bytes: bytes.length, layers });
}
process.stdout.write(JSON.stringify(found));
