import { parseAddress } from '@portcullis/core/net/address.ts';

/** An element that the kernel put into a set. */
export interface SetElement {
  /** Fields of the key, as nft writes them. */
  readonly fields: readonly string[];
  /** Seconds that are left to it; null: it stays. */
  readonly expires: number | null;
  readonly packets: number;
  readonly bytes: number;
}

interface Listed {
  readonly val?: { readonly concat?: readonly (string | number)[] };
  readonly expires?: number;
  readonly counter?: { readonly packets: number; readonly bytes: number };
}

/** Of a set of concatenated keys, as `Driver.list` answers it. Throws `SyntaxError` on what is no JSON. */
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

/** Of a field; null where it is no address. */
export function addressOf(field: string): bigint | null {
  const address = parseAddress(field);
  return address.ok ? address.value.value : null;
}
