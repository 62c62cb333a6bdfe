import { FORMS } from '../forms.ts';
import type { FileEntry, Refuse } from '../kind.ts';

interface Window {
  readonly since?: string;
  readonly until?: string;
  readonly default?: string;
}
type PrefixText = Window & { readonly cidr: string };
type AddressText = Window & { readonly ip: string };

interface FileWithHoldings {
  readonly organisations?: Readonly<
    Record<
      string,
      {
        readonly default?: string;
        readonly prefixes?: readonly PrefixText[];
        readonly services?: readonly {
          readonly id: number;
          readonly prefixes?: readonly PrefixText[];
          readonly addresses?: readonly AddressText[];
        }[];
      }
    >
  >;
}

/** The entry that contains others, and what those have from it. */
interface Container {
  readonly pointer: string;
  readonly from: object;
}

/** The holdings of a file: prefixes of organisations, and prefixes and addresses of services. */
export function findHoldingEntries(file: FileWithHoldings, refuse: Refuse): FileEntry[] {
  return Object.entries(file.organisations ?? {}).flatMap(([organisation, text]) => {
    const pointer = `/organisations/${organisation}`;
    const from = { organisation, default: text.default };
    const services = (text.services ?? []).flatMap(({ id, prefixes, addresses }, index) => {
      const within = { pointer: `${pointer}/services/${index}`, from: { ...from, service: id } };
      return [...prefixesOf(prefixes, within, refuse), ...addressesOf(addresses, within, refuse)];
    });
    return [...prefixesOf(text.prefixes, { pointer, from }, refuse), ...services];
  });
}

function prefixesOf(
  prefixes: readonly PrefixText[] = [],
  { pointer, from }: Container,
  refuse: Refuse,
): FileEntry[] {
  return prefixes.map(({ cidr, ...entry }, index) => {
    const at = `${pointer}/prefixes/${index}`;
    refuseEndAlone(entry, at, refuse);
    return {
      pointer: at,
      value: { ...from, ...entry, prefix: cidr },
      pointers: { '/prefix': '/cidr' },
    };
  });
}

function addressesOf(
  addresses: readonly AddressText[] = [],
  { pointer, from }: Container,
  refuse: Refuse,
): FileEntry[] {
  return addresses.map(({ ip, ...entry }, index) => {
    const at = `${pointer}/addresses/${index}`;
    const address = FORMS.address(ip);
    if (!address.ok) refuse(`${at}/ip`, address.reason);
    refuseEndAlone(entry, at, refuse);
    return {
      pointer: at,
      value: { ...from, ...entry, prefix: ip },
      pointers: { '/prefix': '/ip' },
    };
  });
}

/** Refuses an end without a start: a file that is applied again would make the ended holding anew. */
function refuseEndAlone({ since, until }: Window, pointer: string, refuse: Refuse): void {
  if (since !== undefined || until === undefined) return;
  refuse(`${pointer}/until`, 'A holding that ends must say since when it is held, too.');
}
