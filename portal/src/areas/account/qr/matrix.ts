import { codewordsOf } from './codewords.ts';

/** Rows of modules; true is dark. */
export type Matrix = readonly (readonly boolean[])[];
type Cells = (boolean | null)[][];

const MASKS: readonly ((x: number, y: number) => number)[] = [
  (x, y) => (x + y) % 2,
  (_x, y) => y % 2,
  (x) => x % 3,
  (x, y) => (x + y) % 3,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2,
  (x, y) => ((x * y) % 2) + ((x * y) % 3),
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2,
];

/** The QR code of a text, level M, with the mask of the smallest penalty, ISO/IEC 18004. */
export function qrMatrix(text: string): Matrix {
  const { version, bytes } = codewordsOf(text);
  const candidates = MASKS.map((mask, number) => {
    const cells = patternsOf(version, number);
    fill(cells, bytes, mask);
    return cells as boolean[][];
  });
  return candidates.reduce((best, each) => (penaltyOf(each) < penaltyOf(best) ? each : best));
}

/** Everything but the data, whose modules are null. */
function patternsOf(version: number, mask: number): Cells {
  const size = version * 4 + 17;
  const cells: Cells = Array.from({ length: size }, () => Array<null>(size).fill(null));
  const set = (x: number, y: number, dark: boolean): void => {
    const row = cells[y];
    if (row !== undefined && x >= 0 && x < size) row[x] = dark;
  };
  for (let at = 0; at < size; at++) {
    set(6, at, at % 2 === 0);
    set(at, 6, at % 2 === 0);
  }
  for (const [x, y] of alignments(version, size)) {
    square(2, (dx, dy, ring) => set(x + dx, y + dy, ring !== 1));
  }
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const) {
    square(4, (dx, dy, ring) => set(x + dx, y + dy, ring !== 2 && ring !== 4));
  }
  drawFormat(size, mask, set);
  if (version >= 7) drawVersion(size, version, set);
  return cells;
}

type SetCell = (x: number, y: number, dark: boolean) => void;

function square(radius: number, each: (dx: number, dy: number, ring: number) => void): void {
  for (let dy = -radius; dy <= radius; dy++) {
    for (let dx = -radius; dx <= radius; dx++) each(dx, dy, Math.max(Math.abs(dx), Math.abs(dy)));
  }
}

function alignments(version: number, size: number): [number, number][] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.floor((version * 8 + count * 3 + 5) / (count * 4 - 4)) * 2;
  const places = [
    6,
    ...Array.from({ length: count - 1 }, (_, at) => size - 7 - (count - 2 - at) * step),
  ];
  const last = size - 7;
  return places.flatMap((x) =>
    places
      .filter((y) => !(x === 6 && (y === 6 || y === last)) && !(x === last && y === 6))
      .map((y): [number, number] => [x, y]),
  );
}

/** Level M is 0; 15 bits with a BCH code, in two copies. */
function drawFormat(size: number, mask: number, set: SetCell): void {
  const bits = ((mask << 10) | bch(mask, 10, 0x537)) ^ 0x5412;
  const bit = (at: number): boolean => ((bits >>> at) & 1) === 1;
  for (let at = 0; at < 15; at++) {
    const [x, y] = at < 8 ? [8, at + (at > 5 ? 1 : 0)] : [at === 8 ? 7 : 14 - at, 8];
    set(x, y, bit(at));
    if (at < 8) set(size - 1 - at, 8, bit(at));
    else set(8, size - 15 + at, bit(at));
  }
  set(8, size - 8, true);
}

function drawVersion(size: number, version: number, set: SetCell): void {
  const bits = (version << 12) | bch(version, 12, 0x1f25);
  for (let at = 0; at < 18; at++) {
    const [a, b] = [size - 11 + (at % 3), Math.floor(at / 3)];
    const dark = ((bits >>> at) & 1) === 1;
    set(a, b, dark);
    set(b, a, dark);
  }
}

function bch(value: number, degree: number, polynomial: number): number {
  let rest = value;
  for (let step = 0; step < degree; step++)
    rest = (rest << 1) ^ ((rest >>> (degree - 1)) * polynomial);
  return rest;
}

/** Data runs in columns of two modules, up and down in turn, from the right. */
function fill(
  cells: Cells,
  bytes: readonly number[],
  mask: (x: number, y: number) => number,
): void {
  const size = cells.length;
  let next = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5;
    const isUpward = ((right + 1) & 2) === 0;
    for (let step = 0; step < size; step++) {
      const y = isUpward ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        const row = cells[y];
        if (row === undefined || row[x] !== null) continue;
        const bit = ((bytes[next >>> 3] ?? 0) >>> (7 - (next & 7))) & 1;
        row[x] = (bit === 1) !== (mask(x, y) === 0);
        next++;
      }
    }
  }
}

/** How hard it is to read: runs, squares, what looks like a finder, and an uneven share of dark modules. */
function penaltyOf(matrix: Matrix): number {
  const rows = matrix.map((row) => row.map((dark) => (dark ? '1' : '0')).join(''));
  const columns = rows.map((_, x) => rows.map((row) => row[x]).join(''));
  let penalty = 0;
  for (const line of [...rows, ...columns]) {
    for (const [run] of line.matchAll(/0{5,}|1{5,}/g)) penalty += run.length - 2;
    penalty += 40 * [...line.matchAll(/(?=00001011101|10111010000)/g)].length;
  }
  for (const [y, row] of matrix.entries()) {
    for (const [x, dark] of row.entries()) {
      const others = [row[x + 1], matrix[y + 1]?.[x], matrix[y + 1]?.[x + 1]];
      if (others.every((other) => other === dark)) penalty += 3;
    }
  }
  const share = rows.join('').replaceAll('0', '').length / matrix.length ** 2;
  return penalty + 10 * Math.floor(Math.abs(share * 20 - 10));
}
