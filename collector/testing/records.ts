import { parseAddress } from '@portcullis/core/net/address.ts';
import { createRecord, type FlowRecord } from '@portcullis/core/attacks/flow-record.ts';

/** A record of one UDP packet of 100 bytes without addresses, with the given overrides. */
export function recordTo(
  destination: string,
  { from = '198.51.100.7', ...fields }: Partial<FlowRecord> & { readonly from?: string } = {},
): FlowRecord {
  const target = parsed(destination);
  return {
    ...createRecord(),
    family: target.family,
    protocol: 17,
    sourcePort: 40_000,
    destinationPort: 27_015,
    packets: 1,
    bytes: 100 * (fields.packets ?? 1),
    ...fields,
    destination: target.words,
    source: parsed(from).words,
  };
}

function parsed(text: string): { readonly family: 4 | 6; readonly words: Uint32Array } {
  const address = parseAddress(text);
  if (!address.ok) throw new Error(address.reason);
  const { family, value } = address.value;
  const words = [96n, 64n, 32n, 0n].map((shift) => Number((value >> shift) & 0xffffffffn));
  return { family, words: Uint32Array.from(words) };
}
