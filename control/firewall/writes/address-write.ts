import { type Family, parseAddress } from '@portcullis/core/net/address.ts';
import { type Access, type Holding, recordAudit } from '../../access/index.ts';
import type { Tx } from '../../db/database.ts';
import { currentGeneration, takeGeneration } from '../../fleet/generations.ts';
import { notHeld } from '../../http/not-found.ts';
import type { Call } from '../../http/operation.ts';
import { refuseTooManyConfigured } from './configured.ts';
import type { FirewallEvents, WriteEvent } from './events.ts';
import type { AddressState } from '../objects.ts';
import {
  discardAddress,
  loadAddress,
  type LockedAddress,
  lockAddress,
  setConfigured,
} from '../store.ts';

export interface ServiceDeps {
  readonly access: Pick<Access, 'findHolding'>;
  readonly events: FirewallEvents;
}

/** One address under a write: locked, with all that is accepted for it. */
export interface Site {
  readonly address: LockedAddress;
  /** What is accepted before the write. */
  readonly state: AddressState;
}

/** The caller's holding of the address; throws 404. */
export async function requireHolding(deps: ServiceDeps, tx: Tx, call: Call): Promise<Holding> {
  const holding = await deps.access.findHolding(tx, call.caller, call.ip);
  if (holding === null) throw notHeld();
  return holding;
}

/**
 * Locks the address's row, so that writes to it come one after another, and reads what is accepted now.
 * Waiting for the lock can take until the holding has ended: then it is 404 after all.
 */
export async function openSite(tx: Tx, call: Call, holding: Holding): Promise<Site> {
  const address = await lockAddress(tx, holding.id, call.ip);
  const state = await loadAddress(tx, 'accepted', call.caller, call.ip);
  if (state === null || state.holdingId !== holding.id) throw notHeld();
  return { address, state };
}

/** For a write that has nothing to write: leaves no trace, and gives the newest generation there is. */
export async function leaveSite(tx: Tx, site: Site): Promise<number> {
  await discardAddress(tx, site.address);
  return currentGeneration(tx);
}

/** Takes the write's generation; what comes after it until the commit is done under the fleet's lock. */
export function takeSiteGeneration(tx: Tx, call: Call, cause: string): Promise<number> {
  return takeGeneration(tx, { cause, targets: [call.ip] });
}

/**
 * Keeps `configured` true to whether the address has objects of its own. The first object of an address
 * counts against the organisation's `configured_addresses`; throws `limit_exceeded`.
 */
export async function markConfigured(
  tx: Tx,
  call: Call,
  site: Site,
  hasObjects: boolean,
): Promise<void> {
  if (site.address.configured === hasObjects) return;
  await setConfigured(tx, site.address.id, hasObjects);
  if (hasObjects) await refuseTooManyConfigured(tx, call.caller.organisationId);
}

/** Writes the audit entry of a caller's write. */
export async function audit(
  tx: Tx,
  call: Call,
  entry: {
    readonly action: string;
    readonly detail: Readonly<Record<string, unknown>>;
    readonly generation: number;
  },
): Promise<void> {
  const { caller } = call;
  await recordAudit(tx, {
    actor: {
      kind: 'key',
      name: `${caller.keyName} (${caller.keyId})`,
      source: call.source,
      requestId: call.requestId,
    },
    organisationId: caller.organisationId,
    target: call.ip,
    ...entry,
  });
}

export function familyOf(ip: string): Family {
  const address = parseAddress(ip);
  if (!address.ok) throw new Error(`not a canonical address: ${ip}`);
  return address.value.family;
}

/** What every event of a write says. */
export function eventOf(call: Call, generation: number): WriteEvent {
  const { caller, ip, requestId } = call;
  return { organisation: caller.organisation.slug, ip, generation, requestId };
}
