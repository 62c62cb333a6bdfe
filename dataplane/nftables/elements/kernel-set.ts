import { parseAddress } from '@portcullis/core/net/address.ts';

/** An element that the kernel added to a set. */
export interface SetElement {
  /** The fields of the key, in the syntax of nft. */
  readonly fields: readonly string[];
  /** The remaining seconds; null if the element has no timeout. */
  readonly expires: number | null;
  readonly packets: number;
  readonly bytes: number;
}

interface Listed {
  readonly val?: { readonly concat?: readonly (string | number)[] };
  readonly expires?: number;
  readonly counter?: { readonly packets: number; readonly bytes: number };
}

/** Parses the result of `Driver.list` for a set of concatenated keys. Throws `SyntaxError` if it is not JSON. */
export function parseSet(json: string): SetElement[] {
  const { nftables } = JSON.parse(json) as {
    readonly nftables: readonly {
      readonly set?: { readonly elem?: readonly { readonly elem?: Listed }[] };
    }[];
  };
  return nftables
    .flatMap(({ set }) => set?.elem ?? [])
    .flatMap(({ elem }) => {
      const fields = elem?.val?.concat;
      if (elem === undefined || fields === undefined) return [];
      const { expires, counter } = elem;
      return {
        fields: fields.map(String),
        expires: expires ?? null,
        packets: counter?.packets ?? 0,
        bytes: counter?.bytes ?? 0,
      };
    });
}

/** The value of an address field; null for another field. */
export function addressOf(field: string): bigint | null {
  const address = parseAddress(field);
  return address.ok ? address.value.value : null;
}
