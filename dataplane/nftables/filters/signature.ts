import type { Signature } from '@portcullis/core/filters/filter.ts';

const UDP_HEADER_BYTES = 8;
/** The most bytes that one raw payload match compares. Longer signatures use several. */
const MAX_MATCH_BYTES = 16;

/** The matches of a UDP payload: its length, then its bytes. */
export function signatureMatches({ bytes, minLength, maxLength }: Signature): string {
  const lengths = `${UDP_HEADER_BYTES + minLength}-${UDP_HEADER_BYTES + maxLength}`;
  return [`udp length ${lengths}`, ...bytes.flatMap(bytesMatches)].join(' ');
}

function bytesMatches({ offset, hex }: Signature['bytes'][number]): string[] {
  const matches: string[] = [];
  for (let at = 0; at < hex.length; at += 2 * MAX_MATCH_BYTES) {
    const part = hex.slice(at, at + 2 * MAX_MATCH_BYTES);
    const bit = 8 * (UDP_HEADER_BYTES + offset + at / 2);
    matches.push(`@th,${bit},${4 * part.length} 0x${part}`);
  }
  return matches;
}
