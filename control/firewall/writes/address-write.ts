import { type Family, parseAddress } from '@portcullis/core/net/address.ts';
import { findHolding } from '../../access/index.ts';
import type { Tx } from '../../db/database.ts';
import { currentGeneration } from '../../fleet/generations.ts';
import { notHeld } from '../../http/operations/not-found.ts';
import type { Call } from '../../http/operations/operation.ts';
import { requireConfiguredLimit } from './configured.ts';
import type { FirewallEvents } from './events.ts';
import type { AddressState } from '../objects.ts';
import {
  discardAddress,
  insertAddress,
  loadAddress,
  type LockedAddress,
  lockAddress,
  setConfigured,
} from '../store.ts';

export interface ServiceDeps {
  readonly events: FirewallEvents;
}

/** An address that is locked for a write, with its accepted state. */
export interface AddressWriteScope {
  readonly address: LockedAddress;
  /** What is accepted before the write. */
  readonly state: AddressState;
}

/**
 * Locks the address's row, which serialises writes to it, and reads the accepted state. Throws 404 when the caller does
 * not hold the address, or the holding ended during the wait for the lock.
 */
export async function openWriteScope(tx: Tx, call: Call): Promise<AddressWriteScope> {
  const { caller, ip } = call;
  const address = (await lockAddress(tx, caller, ip)) ?? (await addAddress(tx, call));
  const state = await loadAddress(tx, 'accepted', caller, ip);
  if (state === null || state.holdingId !== address.holdingId) throw notHeld();
  return { address, state };
}

async function addAddress(tx: Tx, { caller, ip }: Call): Promise<LockedAddress> {
  const holding = await findHolding(tx, caller, ip);
  const address = holding && (await insertAddress(tx, caller, { holdingId: holding.id, ip }));
  if (address === null) throw notHeld();
  return address;
}

/** Ends a write without effect, leaves no trace, and returns the newest generation. */
export async function leaveWriteScope(tx: Tx, scope: AddressWriteScope): Promise<number> {
  await discardAddress(tx, scope.address);
  return currentGeneration(tx);
}

/**
 * Sets `configured` to whether the address has own objects. The first object of an address
 * counts against the organisation's `configured_addresses`; throws `limit_exceeded`.
 */
export async function markConfigured(
  tx: Tx,
  call: Call,
  scope: AddressWriteScope,
  hasObjects: boolean,
): Promise<void> {
  if (scope.address.configured === hasObjects) return;
  await setConfigured(tx, scope.address.id, hasObjects);
  if (hasObjects) await requireConfiguredLimit(tx, call.caller.organisationId);
}

export function familyOf(ip: string): Family {
  const address = parseAddress(ip);
  if (!address.ok) throw new Error(`not a canonical address: ${ip}`);
  return address.value.family;
}
