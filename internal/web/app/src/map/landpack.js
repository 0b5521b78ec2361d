// How tiles of the land lie in files, for what writes them (scripts/land.mjs) and what
// reads them (land.ts). Zooms up to 2 are one file, "low"; what is below a tile of
// zoom 2 is a file of its own, so that a browser asks for the part of the world that it
// shows. In a file tiles are in order of zoom, row, column. A table is before them: for
// each tile where it begins, and where the last one ends, as little endian numbers of
// 32 bits. An empty tile has no bytes.

/** The deepest zoom: MapLibre draws its tiles larger beyond. */
export const deepest = 5;
/** The deepest zoom of the file "low". */
const coarse = 2;

/**
 * The name of a tile's file, and which tile of it it is.
 * @param {number} z
 * @param {number} x
 * @param {number} y
 */
export function whereIs(z, x, y) {
  if (z <= coarse) return { file: 'low', at: (4 ** z - 1) / 3 + y * 2 ** z + x };
  const down = z - coarse;
  const side = 2 ** down;
  const [column, row] = [Math.floor(x / side), Math.floor(y / side)];
  return { file: `${column}-${row}`, at: (4 ** down - 4) / 3 + (y - row * side) * side + (x - column * side) };
}

/**
 * @param {Uint8Array[]} tiles
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function pack(tiles) {
  const head = 4 * (tiles.length + 1);
  const bytes = new Uint8Array(tiles.reduce((sum, t) => sum + t.length, head));
  const table = new DataView(bytes.buffer);
  let end = head;
  tiles.forEach((tile, i) => {
    table.setUint32(4 * i, end, true);
    bytes.set(tile, end);
    end += tile.length;
  });
  table.setUint32(4 * tiles.length, end, true);
  return bytes;
}

/**
 * One tile of a file.
 * @param {ArrayBuffer} file
 * @param {number} at
 */
export function unpack(file, at) {
  const table = new DataView(file);
  return file.slice(table.getUint32(4 * at, true), table.getUint32(4 * at + 4, true));
}
