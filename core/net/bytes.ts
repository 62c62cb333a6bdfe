/** Reads numbers in network byte order. The caller checks lengths; bytes outside read as 0 and nothing throws. */
export function u16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
}

export function u32(bytes: Uint8Array, at: number): number {
  return (
    (((bytes[at] as number) << 24) |
      ((bytes[at + 1] as number) << 16) |
      ((bytes[at + 2] as number) << 8) |
      (bytes[at + 3] as number)) >>>
    0
  );
}

/** A number of any field length; above 2^53 the lowest bits are lost, which does not matter for counters. */
export function unsigned(bytes: Uint8Array, at: number, length: number): number {
  if (length === 4) return u32(bytes, at);
  if (length === 8) return u32(bytes, at) * 0x1_0000_0000 + u32(bytes, at + 4);
  let value = 0;
  for (let index = at; index < at + length; index++) value = value * 256 + (bytes[index] as number);
  return value;
}

/** An IPv6 address into four words. */
export function readWords(bytes: Uint8Array, at: number, words: Uint32Array): void {
  words[0] = u32(bytes, at);
  words[1] = u32(bytes, at + 4);
  words[2] = u32(bytes, at + 8);
  words[3] = u32(bytes, at + 12);
}
