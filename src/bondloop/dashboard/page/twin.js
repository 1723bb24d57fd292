// Two runs in one plot: the blocks of both on one grid of pixels.

// Let a block reach as far as another one does, with gaps: where one run has ended, the other may go on.
export function widen(block, other, pixels) {
  if (!other.rows) return;
  if (!block.rows) Object.assign(block, { first: other.first, step: other.step });
  const end = Math.max(block.first + block.rows * block.step, other.first + other.rows * other.step);
  // What is left of a run that ended early has few samples, each a row: as many for all of the other do not fit.
  if ((end - Math.min(block.first, other.first)) / block.step > 2 * pixels && other.step > block.step) coarsen(block, other, end);
  const before = Math.max(0, Math.ceil((block.first - other.first) / block.step - 0.5)), rows = Math.max(block.rows + before, Math.round((end - block.first) / block.step) + before);
  block.columns = block.columns.map((column) => { const wide = new Float32Array(rows).fill(NaN); wide.set(column, before); return wide; });
  block.first -= before * block.step;
  block.rows = rows;
}

// Put a block on the grid of another one, which is coarser; of the values of a row the lowest and the highest stay.
function coarsen(block, other, end) {
  const { step } = other, first = other.first - Math.max(0, Math.ceil((other.first - block.first) / step)) * step;
  const grid = { first, step, rows: Math.round((end - first) / step) + 1 };
  block.columns = block.columns.map((column, i) => onGrid(column, block, grid, i % 2 ? Math.max : Math.min));
  Object.assign(block, grid);
}

// A column of one block on the grid of another: the nearest value, and of several the lowest or the highest.
export function onGrid(source, from, to, choose) {
  const column = new Float32Array(to.rows).fill(NaN);
  for (let i = 0; i < to.rows; i++) {
    const at = Math.round((to.first + i * to.step - from.first) / from.step);
    if (at >= 0 && at < from.rows) column[i] = source[at];
  }
  for (let i = 0; i < from.rows; i++) {
    const at = Math.round((from.first + i * from.step - to.first) / to.step);
    if (at >= 0 && at < to.rows && source[i] === source[i]) column[at] = column[at] === column[at] ? choose(column[at], source[i]) : source[i];
  }
  return column;
}
