// Binary frames of the server, as src/bondloop/dashboard/frames.py writes them.
export const STRIP = 0, PLANE = 1;

export function decode(buffer) {
  const view = new DataView(buffer);
  if (view.getUint32(0) !== 0x424c4631) throw new Error("no frame of the server's");
  const number = view.getUint32(4, true), count = view.getUint32(8, true);
  const blocks = [];
  let at = 16;
  for (let i = 0; i < count; i++) {
    const columns = view.getUint32(at + 4, true), rows = view.getUint32(at + 8, true);
    const block = {
      plot: view.getUint16(at, true), kind: view.getUint8(at + 2), restart: (view.getUint8(at + 3) & 1) === 1,
      rows, first: view.getFloat64(at + 16, true), step: view.getFloat64(at + 24, true), columns: [],
    };
    at += 32;
    for (let c = 0; c < columns; c++) block.columns.push(new Float32Array(buffer, at + 4 * c * rows, rows));
    at += Math.ceil((4 * columns * rows) / 8) * 8;
    blocks.push(block);
  }
  return { number, blocks };
}
