import { formatCidr, formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Tx } from '../db/database.ts';
import { lockRows } from '../db/locks.ts';
import type { CallOf, Handlers } from '../http/operations/handlers.ts';
import {
  changeHolding,
  createHoldings,
  type CurrentHolding,
  deleteHolding,
  type HoldingContent,
  inEffect,
  loadHoldings,
  loadInside,
  loadNow,
} from '../organisations/index.ts';
import { conflict, invalidField, Problem } from '../problem.ts';
import { type Done, type Written, writeOrganisation } from './organisation-write.ts';
import { findAsn, findHolder, findService } from './store.ts';
import { timeView } from '../http/operations/view.ts';

type Names = 'createHolding' | 'changeHolding' | 'removeHolding';

/** Prefixes and addresses of organisations, and their time. */
export function createHoldingHandlers(): Pick<Handlers, Names> {
  return {
    createHolding: (call, tx) =>
      writeOrganisation(call, tx, (written) => create(call, tx, written), 201),
    changeHolding: (call, tx) =>
      writeOrganisation(call, tx, (written) => change(call, tx, written)),
    removeHolding: (call, tx) =>
      writeOrganisation(call, tx, async ({ batch, organisationId }) => {
        const holding = await requireHolding(tx, organisationId, call.params.holding);
        batch.requireOwn(holding.owner, nameOf(holding));
        if (holding.referenced && holding.since < (await loadNow(tx))) {
          throw conflict(`${nameOf(holding)} has a history: end it instead.`);
        }
        if (holding.liveObjects > 0) throw losing(holding);
        await deleteHolding(batch, holding);
        return entry('holding.remove', holding);
      }),
  };
}

async function create(
  { body }: CallOf<'createHolding'>,
  tx: Tx,
  { batch, organisationId }: Written,
): Promise<Done> {
  const now = await loadNow(tx);
  const { asn = null, service_id: serviceId = null } = body;
  if (asn !== null && serviceId !== null) {
    throw invalidField('/asn', 'What a service holds is announced under no ASN: name one of both.');
  }
  const content: HoldingContent = {
    cidr: requireCidr(body.prefix),
    asn,
    serviceId,
    since: momentOf(body.since) ?? now,
    until: momentOf(body.until),
  };
  await requireSource(tx, content, organisationId);
  await requireFree(tx, content, null);
  if (body.allow_losses !== true && inEffect(content, now)) await requireNothingInside(tx, content);
  const [created] = await createHoldings(batch, [{ ...content, organisationId }]);
  return { ...entry('holding.create', content), ...(created && { made: { id: created.id } }) };
}

async function change(
  call: CallOf<'changeHolding'>,
  tx: Tx,
  { batch, organisationId }: Written,
): Promise<Done> {
  const { since, until, end_now: endsNow = false, allow_losses: allowLosses = false } = call.body;
  const before = await requireHolding(tx, organisationId, call.params.holding);
  batch.requireOwn(before.owner, nameOf(before));
  const now = await loadNow(tx);
  const { cidr, asn, serviceId } = before;
  const after = {
    cidr,
    asn,
    serviceId,
    since: momentOf(since) ?? before.since,
    until: endsNow ? now : until === undefined ? before.until : momentOf(until),
  };
  await requireFree(tx, after, before.id);
  if (!allowLosses) {
    const wasInEffect = inEffect(before, now);
    const isInEffect = inEffect(after, now);
    if (wasInEffect && !isInEffect && before.liveObjects > 0) throw losing(before);
    if (!wasInEffect && isInEffect) await requireNothingInside(tx, after);
  }
  await changeHolding(batch, before.id, after);
  return entry('holding.change', after);
}

/** A service belongs to the organisation, an ASN to it or to the operator. */
async function requireSource(
  tx: Tx,
  { asn, serviceId }: HoldingContent,
  organisationId: number,
): Promise<void> {
  if (asn !== null) {
    const found = await findAsn(tx, asn);
    if (found?.organisationId === organisationId || found?.organisationId === null) return;
    const detail = `AS${asn} is neither the organisation's nor the operator's: add it first.`;
    throw conflict(detail, '/asn');
  }
  if (serviceId === null) return;
  const found = await findService(tx, serviceId);
  if (found?.organisationId === organisationId) return;
  const detail = `The organisation has no service ${serviceId}: make it first.`;
  throw conflict(detail, '/service_id');
}

function requireCidr(text: string): string {
  const cidr = parseCidr(text);
  if (!cidr.ok) throw invalidField('/prefix', `"${text}" is no network: ${cidr.reason}.`);
  return formatCidr(cidr.value);
}

async function requireFree(tx: Tx, content: HoldingContent, except: number | null): Promise<void> {
  if (content.until !== null && content.until <= content.since) {
    throw invalidField('/until', 'A holding must end after it began.');
  }
  const holder = await findHolder(tx, content, except);
  if (holder === null) return;
  const until = holder.until === null ? '' : ` until ${timeView(holder.until)}`;
  const detail = `${showCidr(content.cidr)} is ${holder.slug}'s since ${timeView(holder.since)}${until}: two cannot hold it at the same time.`;
  throw conflict(detail, '/prefix');
}

async function requireNothingInside(tx: Tx, { cidr }: HoldingContent): Promise<void> {
  const inside = (await loadInside(tx, [cidr])).get(cidr);
  if (inside !== undefined) throw losing({ cidr, ...inside }, ` of ${inside.organisation}`);
}

async function requireHolding(tx: Tx, organisationId: number, id: number): Promise<CurrentHolding> {
  await lockRows(tx, 'holdings', [id], 'update');
  const [holding] = await loadHoldings(tx, id);
  if (holding?.organisationId === organisationId) return holding;
  throw new Problem('not_found', `The organisation has no holding ${id}.`);
}

function losing(
  { cidr, liveObjects }: Pick<CurrentHolding, 'cidr' | 'liveObjects'>,
  whose = '',
): Problem {
  const detail = `${showCidr(cidr)} has ${liveObjects} live firewall object${liveObjects === 1 ? '' : 's'}${whose}, which would no longer be enforced.`;
  return new Problem('live_objects', detail);
}

function entry(action: string, { cidr, since, until, asn, serviceId }: HoldingContent): Done {
  const detail = { since, until, asn, service_id: serviceId };
  return { action, target: showCidr(cidr), detail };
}

function nameOf({ cidr }: HoldingContent): string {
  const shown = showCidr(cidr);
  return `The ${shown.includes('/') ? 'prefix' : 'address'} ${shown}`;
}

function showCidr(cidr: string): string {
  const parsed = parseCidr(cidr);
  return parsed.ok ? formatNetwork(parsed.value) : cidr;
}

function momentOf(text: string | null | undefined): Date | null {
  return text === null || text === undefined ? null : new Date(text);
}
