import type { HoldingObject } from '@portcullis/contract/schemas/declared/holding.ts';
import { FORMS, showCidr } from '../forms.ts';
import { APPENDED, type FileEntry, type FilePart, type Refuse, type Written } from '../kind.ts';
import type { HoldingFacts } from './holding-table.ts';

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

/**
 * The entry of a holding: a prefix of its organisation, or a prefix or an address of its service. A default that others set is
 * written too, because adopting the holding hands it over.
 */
export function writeHolding(one: Written<HoldingObject, HoldingFacts>): FilePart {
  const { organisation, prefix, service } = one.object;
  const { organisation: _organisation, prefix: _prefix, service: _service, ...fields } = one.fields;
  const { othersDefault } = one.facts;
  const window = othersDefault === null ? fields : { ...fields, default: othersDefault };
  const shown = showCidr(prefix);
  const path = ['organisations', organisation];
  if (service === null) {
    return { path: [...path, 'prefixes', APPENDED], value: { cidr: shown, ...window }, of: [one] };
  }
  const within = [...path, 'services', { id: service }];
  return shown.includes('/')
    ? { path: [...within, 'prefixes', APPENDED], value: { cidr: shown, ...window }, of: [one] }
    : { path: [...within, 'addresses', APPENDED], value: { ip: shown, ...window }, of: [one] };
}
