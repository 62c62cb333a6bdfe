import fc from 'fast-check';
import { FILTERS } from '../catalogue.ts';
import type { Filter, Opening, Signature } from '../filter.ts';

const filters: readonly Filter[] = FILTERS;
const SIGNATURES: readonly (Opening & Partial<Signature>)[] = filters.flatMap(({ udp, tcp }) => [
  ...(udp?.greetings ?? []),
  ...(udp?.data ?? []),
  ...(udp?.roaming?.kinds ?? []).flatMap(({ packets }) => packets),
  ...(tcp?.openings ?? []),
]);
/** Bytes beyond the shortest payload of a signature. */
const MORE = 40;
/** The most that a frame carries with every header that a test puts before it. */
const MOST = 1300;

/**
 * Payloads for filters: those that fit a signature of the catalogue, the same with one bit changed or one byte cut off,
 * and any.
 */
export function payload(): fc.Arbitrary<Uint8Array> {
  const any = fc.uint8Array({ maxLength: 96 });
  const fitting = fc
    .record({
      signature: fc.constantFrom(...SIGNATURES),
      filling: fc.uint8Array({ minLength: 16, maxLength: 16 }),
      more: fc.nat(MORE),
      change: fc.oneof(
        { weight: 2, arbitrary: fc.constant(null) },
        { weight: 1, arbitrary: fc.nat(MOST * 8) },
      ),
      cut: fc.oneof(
        { weight: 3, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.constant(1) },
      ),
    })
    .map(({ signature, filling, more, change, cut }) => {
      const made = filled(signature, filling, more);
      if (change !== null && made.length > 0) {
        const bit = change % (Math.min(made.length, 20) * 8);
        made[bit >> 3] = (made[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      }
      return made.subarray(0, Math.max(0, made.length - cut));
    });
  return fc.oneof({ weight: 3, arbitrary: fitting }, { weight: 1, arbitrary: any });
}

/** The shortest payload of a signature, some bytes longer where it may be. */
export function filled(
  { bytes, minLength, maxLength = MOST }: Opening & Partial<Signature>,
  filling: Uint8Array,
  more = 0,
): Uint8Array {
  const needed = Math.max(...bytes.map(({ offset, hex }) => offset + hex.length / 2), 0);
  const length = Math.min(Math.max(minLength ?? 0, needed) + more, maxLength, MOST);
  const made = Uint8Array.from({ length }, (_, index) => filling[index % filling.length] ?? 0);
  for (const { offset, hex, mask } of bytes) {
    const wanted = Buffer.from(hex, 'hex');
    const bits = mask === undefined ? null : Buffer.from(mask, 'hex');
    for (const [index, byte] of wanted.entries()) {
      const free = ~(bits?.[index] ?? 0xff) & 0xff;
      made[offset + index] = byte | ((made[offset + index] ?? 0) & free);
    }
  }
  return made;
}
