import { ConflictError } from '@portcullis/client/errors.ts';
import type {
  AcceptedAddress,
  AcceptedFilter,
  AcceptedRule,
  AddressReplaced,
  AddressReplacement,
} from '@portcullis/client/generated/operations.ts';
import type { KeyClient, Reply } from '@portcullis/client/types.ts';
import { sentMarks } from '@portcullis/core/firewall/rules/marks.ts';

/** The own objects of an address that are accepted: without those of groups, and without what is deleted already. */
export interface OwnObjects {
  readonly rules: readonly AcceptedRule[];
  readonly filters: readonly AcceptedFilter[];
}

/** An address as it is read. */
export type Accepted = Pick<AcceptedAddress, 'data' | 'meta'>;
type SentRule = AddressReplacement['rules'][number];
type SentFilter = AddressReplacement['filters'][number];

/** How often a write is tried that others overtake. */
const ATTEMPTS = 5;

export function isOwn(object: AcceptedRule | AcceptedFilter): boolean {
  return object.managed_by_group === null && object.status !== 'going';
}

export function ownObjects({ rules, filters }: Accepted['data']): OwnObjects {
  return { rules: rules.filter(isOwn), filters: filters.filter(isOwn) };
}

/** A rule as a replace takes it. A port that a name decides is sent by its name. */
export function sentRule(rule: AcceptedRule): SentRule {
  const { action, protocol, source_ip, destination_port, named_port } = rule;
  const port = named_port === null ? { destination_port } : { named_port };
  return { action, protocol, source_ip, ...sentMarks(rule), ...port } as SentRule;
}

export function sentFilter({ type, port, settings }: AcceptedFilter): SentFilter {
  return { type, port, settings };
}

export function sentObjects({ rules, filters }: OwnObjects) {
  return { rules: rules.map(sentRule), filters: filters.map(sentFilter) };
}

/**
 * Reads an address, and replaces its own objects by what `change` makes of them, again if somebody else wrote meanwhile.
 * Null: nothing is to be changed.
 */
export async function changeAddress(
  client: KeyClient,
  ip: string,
  change: (accepted: Accepted) => Pick<AddressReplacement, 'rules' | 'filters'> | null,
): Promise<Reply<AddressReplaced> | null> {
  for (let attempt = 1; ; attempt += 1) {
    const { data, meta, response } = await client.readAcceptedAddress({ ip });
    const body = change({ data, meta });
    if (body === null) return null;
    try {
      const ifMatch = response.etag === null ? {} : { ifMatch: response.etag };
      return await client.replaceAddress({ ip, body }, ifMatch);
    } catch (error) {
      if (!(error instanceof ConflictError) || attempt === ATTEMPTS) throw error;
    }
  }
}
