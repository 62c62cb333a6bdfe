import { countOf } from '@portcullis/core/count.ts';
import { decide } from '@portcullis/core/firewall/decide/decide.ts';
import { FIRST_PACKET } from '@portcullis/core/firewall/decide/first-packet.ts';
import { SAMPLED_ONE_IN } from '@portcullis/core/firewall/passed.ts';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import { createPolicyTable } from '@portcullis/core/firewall/policy-table.ts';
import { findFilter } from '@portcullis/core/filters/catalogue.ts';
import type { Db, Tx } from '../../db/database.ts';
import { Batch } from '../../fleet/batch.ts';
import { inSnapshot, loadChangedPolicy } from '../../fleet/policies/policies.ts';
import type { CallOf } from '../../http/operations/handlers.ts';
import type { AddressCall } from '../../http/operations/operation.ts';
import { timeView } from '../../http/operations/view.ts';
import { findHeldTarget, planDefault } from '../defaults/service.ts';
import { ANY_EDGE } from '../explain/any-edge.ts';
import { packetOf } from '../explain/packet.ts';
import { loadSetsOf, type SourceSetLoader } from '../explain/policy-sets.ts';
import { portOf } from '../named-ports/index.ts';
import type { AddressState } from '../objects.ts';
import { requireConfiguredWith } from '../writes/configured.ts';
import { withFilters, withNotedRules } from '../writes/create-delete.ts';
import {
  type OwnObjects,
  ownObjects,
  ownTuples,
  planOwn,
  stateAfter,
} from '../writes/own-objects.ts';
import { inTurns, loadSamples, type PassedRow, protocolName, type Samples } from './store.ts';

type DryRunCall = CallOf<'dryRun'>;

/** Samples that a change concerns, with the sources that had most. */
interface Affected {
  readonly samples: number;
  readonly sources: number;
  readonly top: readonly PassedRow[];
}

interface Effect {
  /** Passes now, and would not. */
  readonly dropped: Affected;
  /** Would meet a new filter, so that the client must reconnect. */
  readonly reconnecting: Affected;
  readonly samples: number;
}
type DryRun = Effect & Omit<Samples, 'rows'>;

const MAX_TOP = 20;
/**
 * The effect of a change on the packets that edges sampled in the last day. The change is made in memory, over a
 * snapshot that locks nothing; whatever would refuse it refuses it here. Throws 404, 409 and 422.
 */
export async function dryRun(deps: SourceSetLoader, db: Db, call: DryRunCall): Promise<DryRun> {
  const { before, after, ...samples } = await inSnapshot(db, async (tx) => {
    const loaded = await loadSamples(tx, call);
    return { ...loaded, ...(await planPolicy(tx, call, loaded.state)) };
  });
  const sets = await loadSetsOf(deps, db, after, null);
  return { ...samples, ...(await compare(call.params.ip, { before, after, sets }, samples.rows)) };
}

/** The accepted policy of the call's address, and what the change makes of it. Throws what its writes would. */
export async function planPolicy(
  tx: Tx,
  call: DryRunCall,
  accepted: AddressState,
): Promise<{ readonly before: Policy; readonly after: Policy }> {
  const { rules = [], filters = [], default: action } = call.body;
  let state = accepted;
  const change = async (wanted: OwnObjects): Promise<void> => {
    const hadNone = ownCount(state) === 0;
    state = stateAfter(state, await planOwn(tx, call, { state }, wanted));
    if (hadNone && ownCount(state) > 0) await requireRoom(tx, call);
  };
  if (rules.length > 0) {
    const requests = rules.map((rule) => ({ ...rule, ...portOf(rule) }));
    await change(await withNotedRules(tx, call, { state }, requests));
  }
  for (const filter of filters) await change(await withFilters(tx, call, { state }, filter));
  if (action !== undefined) {
    const found = await findHeldTarget(tx, call.by, call.params.ip);
    const { isChanged } = await planDefault(new Batch(tx, 'portal'), found, action);
    if (isChanged) await requireRoom(tx, call);
  }
  const { holdingId } = state;
  const own = state === accepted ? {} : { own: ownTuples(state) };
  return loadChangedPolicy(tx, call.params.ip, {
    holdingId,
    ...own,
    ...(action !== undefined && { default: action }),
  });
}

function requireRoom(tx: Tx, { by: caller, params: { ip } }: AddressCall): Promise<void> {
  return requireConfiguredWith(tx, caller.organisationId, { targets: [ip] });
}

function ownCount(state: AddressState): number {
  const { rules, filters } = ownObjects({ state });
  return rules.length + filters.length;
}

interface Change {
  readonly before: Policy;
  readonly after: Policy;
  readonly sets: SourceSets;
}

/** Pure: the verdicts on each sample before and after. */
async function compare(
  ip: string,
  { before, after, sets: sourceSets }: Change,
  rows: readonly PassedRow[],
): Promise<Effect> {
  const world = (policy: Policy) => ({
    settings: ANY_EDGE,
    policies: createPolicyTable([policy]),
    sourceSets,
  });
  const [then, now] = [world(before), world(after)];
  const known = new Set(before.filters.map(({ type, port }) => `${type} ${port}`));
  const added = after.filters.filter(({ type, port }) => !known.has(`${type} ${port}`));
  const meets = ({ protocol, port }: PassedRow): boolean =>
    added.some((filter) => {
      const transport = protocol === 6 ? 'tcp' : 'udp';
      return filter.port === port && (findFilter(filter.type)?.[transport] ?? null) !== null;
    });
  const [dropped, reconnecting]: [PassedRow[], PassedRow[]] = [[], []];
  for await (const row of inTurns(rows)) {
    const packet = packetOf(ip, row);
    // A sample has no payload, so filters decide nothing of it; which of them it meets is known.
    if (!isPassed(decide(then, packet, FIRST_PACKET))) continue;
    if (!isPassed(decide(now, packet, FIRST_PACKET))) dropped.push(row);
    else if ((row.protocol === 6 || row.protocol === 17) && meets(row)) reconnecting.push(row);
  }
  return {
    dropped: affected(dropped),
    reconnecting: affected(reconnecting),
    samples: rows.reduce((sum, { packets }) => sum + packets, 0),
  };
}

function isPassed({ action, stage }: ReturnType<typeof decide>): boolean {
  return action === 'pass' || stage === 'filters';
}

function affected(rows: readonly PassedRow[]): Affected {
  return {
    samples: rows.reduce((sum, { packets }) => sum + packets, 0),
    sources: new Set(rows.map(({ source }) => source)).size,
    top: rows.slice(0, MAX_TOP),
  };
}

export function dryRunView(ip: string, run: DryRun) {
  const { dropped, reconnecting, samples, window, edges, isComplete } = run;
  return {
    data: {
      ip,
      dropped: affectedView(dropped),
      reconnecting: affectedView(reconnecting),
    },
    message: sentence(run),
    meta: {
      from: timeView(window.from),
      to: timeView(window.to),
      sampled_one_in: SAMPLED_ONE_IN,
      samples,
      edges,
      is_complete: isComplete,
    },
  };
}

function affectedView({ samples, sources, top }: Affected) {
  return {
    samples,
    sources,
    top: top.map(({ source, protocol, port, packets, lastAt }) => ({
      source_ip: source,
      protocol,
      port,
      samples: packets,
      last_seen_at: timeView(lastAt),
    })),
  };
}

function sentence({ dropped, reconnecting, samples }: DryRun): string {
  if (samples === 0)
    return 'No edge has reported a sample of the last day, so nothing is known of what it would do.';
  const of = ({ samples: packets, sources }: Affected): string =>
    `${countOf(packets, 'sample')} from ${countOf(sources, 'source')}`;
  const parts = [
    dropped.samples === 0
      ? 'It would drop nothing'
      : `It would drop ${of(dropped)} (${named(dropped)})`,
    ...(reconnecting.samples === 0
      ? []
      : [`make ${of(reconnecting)} reconnect (${named(reconnecting)})`]),
  ];
  return `${parts.join(', ')}, of ${countOf(samples, 'sampled packet')} of the last day. Nothing was changed.`;
}

/** The sources that were seen last, which may be in use now. */
function named({ top, sources }: Affected): string {
  const latest = top.toSorted((a, b) => b.lastAt.getTime() - a.lastAt.getTime()).slice(0, 3);
  const list = latest.map(
    ({ source, protocol, port }) =>
      `${source} to ${protocolName(protocol)}${port === null ? '' : ` ${port}`}`,
  );
  return `${list.join(', ')}${sources > latest.length ? ', …' : ''}`;
}
