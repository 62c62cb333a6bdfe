/** The codewords of a QR code of level M in byte mode, ISO/IEC 18004. */
export interface Codewords {
  readonly version: number;
  readonly bytes: readonly number[];
}

/** Table 9 of the standard for level M, by version: error-correction codewords of a block, and number of blocks. */
const ECC_PER_BLOCK = [
  10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26, 26, 28, 28, 28,
  28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
];
const BLOCKS = [
  1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16, 17, 17, 18, 20, 21, 23, 25, 26,
  28, 29, 31, 33, 35, 37, 38, 40, 43, 45, 47, 49,
];
const MAX_VERSION = 40;
const BYTE_MODE = 0b0100;

/** Throws a RangeError if the text has more than about 2,300 bytes. */
export function codewordsOf(text: string): Codewords {
  const bytes = new TextEncoder().encode(text);
  for (let version = 1; version <= MAX_VERSION; version++) {
    const countBits = version < 10 ? 8 : 16;
    const capacity = dataCodewords(version);
    if (4 + countBits + bytes.length * 8 > capacity * 8) continue;
    const bits = [
      BYTE_MODE.toString(2).padStart(4, '0'),
      bytes.length.toString(2).padStart(countBits, '0'),
      ...Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')),
    ].join('');
    return { version, bytes: interleave(version, pad(bits, capacity)) };
  }
  throw new RangeError('too long for a QR code');
}

function pad(bits: string, capacity: number): number[] {
  const ended = bits + '0'.repeat(Math.min(4, capacity * 8 - bits.length));
  const data = (ended.match(/.{1,8}/g) ?? []).map((byte) => parseInt(byte.padEnd(8, '0'), 2));
  for (let filler = 0xec; data.length < capacity; filler ^= 0xec ^ 0x11) data.push(filler);
  return data;
}

function rawCodewords(version: number): number {
  let modules = (16 * version + 128) * version + 64;
  if (version >= 2) {
    const align = Math.floor(version / 7) + 2;
    modules -= (25 * align - 10) * align - 55;
    if (version >= 7) modules -= 36;
  }
  return Math.floor(modules / 8);
}

function dataCodewords(version: number): number {
  const [ecc = 0, blocks = 0] = [ECC_PER_BLOCK[version - 1], BLOCKS[version - 1]];
  return rawCodewords(version) - ecc * blocks;
}

/** Splits the data into blocks, and takes a codeword of each in turn, then of their error correction. */
function interleave(version: number, data: readonly number[]): number[] {
  const [ecc = 0, count = 1] = [ECC_PER_BLOCK[version - 1], BLOCKS[version - 1]];
  const short = Math.floor(data.length / count);
  const shortBlocks = count - (data.length % count);
  const divisor = divisorOf(ecc);
  const blocks = Array.from({ length: count }, (_, index) => {
    const from = index * short + Math.max(0, index - shortBlocks);
    return data.slice(from, from + short + (index < shortBlocks ? 0 : 1));
  });
  return [
    ...transpose(blocks, short + 1),
    ...transpose(
      blocks.map((block) => remainder(block, divisor)),
      ecc,
    ),
  ];
}

function transpose(blocks: readonly (readonly number[])[], length: number): number[] {
  return Array.from({ length }, (_, at) =>
    blocks.flatMap((block) => block.slice(at, at + 1)),
  ).flat();
}

/** Coefficients of the Reed-Solomon generator polynomial of a degree, without the leading 1. */
function divisorOf(degree: number): number[] {
  const result = [...Array<number>(degree - 1).fill(0), 1];
  let root = 1;
  for (let step = 0; step < degree; step++) {
    for (let at = 0; at < degree; at++) {
      result[at] = multiply(result[at] ?? 0, root) ^ (result[at + 1] ?? 0);
    }
    root = multiply(root, 2);
  }
  return result;
}

function remainder(data: readonly number[], divisor: readonly number[]): number[] {
  let rest = divisor.map(() => 0);
  for (const byte of data) {
    const factor = byte ^ (rest[0] ?? 0);
    rest = divisor.map((value, at) => (rest[at + 1] ?? 0) ^ multiply(value, factor));
  }
  return rest;
}

/** In the field of 256 elements with the polynomial 0x11d. */
function multiply(a: number, b: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ ((product >>> 7) * 0x11d);
    product ^= ((b >>> bit) & 1) * a;
  }
  return product;
}
