import { NotFoundError } from '@portcullis/client/errors.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import { failed } from '../exit.ts';
import { type AddressPlan, type AddressState, mergeAddress, planAddress } from './plan.ts';
import type { WantedAddress } from './rules-file.ts';

/** Requests at a time: control answers each from one connection of its database. */
const AT_ONCE = 4;

/** Runs work on every item, a few at a time, in order. Stops at the first error, and when `isStopped`. */
export async function eachOf<T>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<void>,
  isStopped: () => boolean = () => false,
): Promise<void> {
  let next = 0;
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    while (next < items.length && !hasFailed && !isStopped()) {
      const index = next++;
      try {
        await work(items[index] as T, index);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: AT_ONCE }, worker));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/** Networks that are blocked on single addresses, by address. */
export async function loadBlocked(client: KeyClient): Promise<ReadonlyMap<string, string[]>> {
  const found = new Map<string, string[]>();
  for await (const page of client.pages.listBlockedSources()) {
    for (const { source, target } of page.data) {
      if (target !== null) found.set(target, [...(found.get(target) ?? []), source]);
    }
  }
  return found;
}

export async function loadState(
  client: KeyClient,
  ip: string,
  blocked: ReadonlyMap<string, readonly string[]>,
): Promise<AddressState> {
  const { data, meta, response } = await client.readAcceptedAddress({ ip });
  return { accepted: { data, meta }, etag: response.etag, blocked: blocked.get(ip) ?? [] };
}

/** The plans of all addresses of a file, in its order. */
export async function loadPlans(
  client: KeyClient,
  wanted: readonly WantedAddress[],
  { prune, onRead }: { readonly prune: boolean; readonly onRead: (done: number) => void },
): Promise<readonly AddressPlan[]> {
  const needsBlocked = wanted.some(({ blocked }) => blocked !== undefined);
  const blocked = needsBlocked ? await loadBlocked(client) : new Map<string, string[]>();
  const plans: AddressPlan[] = [];
  let done = 0;
  await eachOf(wanted, async (address, index) => {
    try {
      const state = await loadState(client, address.ip, blocked);
      plans[index] = await planAddress(client, mergeAddress(address, state, { prune }));
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      throw failed(`${address.ip}: ${error.message}`, error);
    }
    onRead((done += 1));
  });
  return plans;
}
