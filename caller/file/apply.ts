import { ConflictError } from '@portcullis/client/errors.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import { eachOf, loadBlocked, loadState } from './load.ts';
import { type AddressPlan, type MergedAddress, mergeAddress } from './plan.ts';
import type { WantedAddress } from './rules-file.ts';

export interface Applied {
  /** Addresses that are as the file says. */
  readonly done: number;
  /** The newest generation of a write; null: nothing was written. */
  readonly generation: number | null;
}

/** Sources of one request. */
const SOURCES = 1_000;
/** How often an address is planned again because somebody else wrote to it. */
const ATTEMPTS = 5;

/**
 * Makes addresses as planned, a few at a time. Each is whole or untouched but for its default and its blocked sources,
 * which follow, so that an interrupted run is finished by another one.
 */
export async function applyPlans(
  client: KeyClient,
  plans: readonly (readonly [WantedAddress, AddressPlan])[],
  {
    prune,
    isStopped,
    verify,
    onDone,
  }: {
    readonly prune: boolean;
    /** Throws if a plan that was made again is not what the file expects. */
    readonly verify: (wanted: WantedAddress, plan: MergedAddress) => Promise<void>;
    readonly isStopped: () => boolean;
    readonly onDone: (done: number) => void;
  },
): Promise<Applied> {
  let done = 0;
  let newest: number | null = null;
  const wrote = (generation: number | null): void => {
    if (generation !== null) newest = Math.max(newest ?? 0, generation);
  };
  await eachOf(
    plans,
    async ([wanted, plan]) => {
      await applyAddress(client, wanted, plan, { prune, wrote, verify });
      onDone((done += 1));
    },
    isStopped,
  );
  return { done, generation: newest };
}

interface Writing {
  readonly prune: boolean;
  readonly wrote: (generation: number | null) => void;
  readonly verify: (wanted: WantedAddress, plan: MergedAddress) => Promise<void>;
}

async function applyAddress(
  client: KeyClient,
  wanted: WantedAddress,
  first: Omit<MergedAddress, 'settings'>,
  { prune, wrote, verify }: Writing,
): Promise<void> {
  const { ip } = wanted;
  let plan = first;
  for (let attempt = 1; plan.replacement !== null; attempt += 1) {
    try {
      const ifMatch = plan.etag === null ? {} : { ifMatch: plan.etag };
      const { response } = await client.replaceAddress({ ip, body: plan.replacement }, ifMatch);
      wrote(response.generation);
      break;
    } catch (error) {
      if (!(error instanceof ConflictError) || attempt === ATTEMPTS) throw error;
      const state = await loadState(client, ip, await loadBlocked(client));
      const merged = mergeAddress(wanted, state, { prune });
      await verify(wanted, merged);
      plan = merged;
    }
  }
  if (plan.default !== null) {
    const body = { target: ip, default: plan.default };
    wrote((await client.setDefault({ body })).response.generation);
  }
  for (const [sources, operation] of [
    [plan.block, 'blockSources'],
    [plan.unblock, 'unblockSources'],
  ] as const) {
    for (let at = 0; at < sources.length; at += SOURCES) {
      const body = { sources: sources.slice(at, at + SOURCES), target: ip };
      wrote((await client[operation]({ body })).response.generation);
    }
  }
}
