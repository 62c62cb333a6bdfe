import type { Opening, Signature, SignatureBytes } from '@portcullis/core/filters/filter.ts';

export const UDP_HEADER_BYTES = 8;
/** The most bytes that one raw payload match compares. Longer signatures use several. */
const MAX_MATCH_BYTES = 16;

/** The matches of a UDP payload: its length, then its bytes. */
export function signatureMatches({ bytes, minLength, maxLength }: Signature): string {
  const lengths = `${UDP_HEADER_BYTES + minLength}-${UDP_HEADER_BYTES + maxLength}`;
  const matches = bytes.flatMap((one) => bytesMatches(one, { base: 'th', at: UDP_HEADER_BYTES }));
  return [`udp length ${lengths}`, ...matches].join(' ');
}

/** The matches of a TCP payload, which begins where the header's length says. */
export function openingMatches({ bytes }: Opening): string {
  return bytes.flatMap((one) => bytesMatches(one, { base: 'ih', at: 0 })).join(' ');
}

/** Matches a TCP segment that has a payload: a byte can be read where it begins. */
export const HAS_PAYLOAD = '@ih,0,8 0-255';

function bytesMatches(
  { offset, hex, mask }: SignatureBytes,
  { base, at: start }: { readonly base: 'th' | 'ih'; readonly at: number },
): string[] {
  const matches: string[] = [];
  for (let at = 0; at < hex.length; at += 2 * MAX_MATCH_BYTES) {
    const part = hex.slice(at, at + 2 * MAX_MATCH_BYTES);
    const bits = mask?.slice(at, at + 2 * MAX_MATCH_BYTES);
    const field = `@${base},${8 * (start + offset + at / 2)},${4 * part.length}`;
    matches.push(bits === undefined ? `${field} 0x${part}` : `${field} & 0x${bits} == 0x${part}`);
  }
  return matches;
}
