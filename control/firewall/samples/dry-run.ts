import { countOf } from '@portcullis/core/count.ts';
import { decide } from '@portcullis/core/firewall/decide/decide.ts';
import { FIRST_PACKET } from '@portcullis/core/firewall/decide/first-packet.ts';
import { SAMPLED_ONE_IN } from '@portcullis/core/firewall/passed.ts';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import { createPolicyTable } from '@portcullis/core/firewall/policy-table.ts';
import { findFilter } from '@portcullis/core/filters/catalogue.ts';
import type { Db, Tx } from '../../db/database.ts';
import { inSnapshot, loadAddressPolicy } from '../../fleet/policies/policies.ts';
import type { CallOf } from '../../http/operations/handlers.ts';
import { timeView } from '../../http/operations/view.ts';
import { setOwnDefault } from '../defaults/service.ts';
import { ANY_EDGE, type ExplainDeps, loadSetsOf, packetOf } from '../explain/explain.ts';
import { portOf } from '../named-ports/index.ts';
import { addNotedRules, createFilters } from '../writes/create-delete.ts';
import { loadSamples, type PassedRow, protocolName, type Samples } from './store.ts';

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
/** Ends the transaction of the change, which leaves nothing. */
class Changed extends Error {
  readonly policy: Policy;

  constructor(policy: Policy) {
    super('a dry run is not stored');
    this.policy = policy;
  }
}

/**
 * What a change would do to the packets that edges sampled in the last day. The change is made and rolled back, so that
 * whatever would refuse it refuses it here. Throws 404, 409 and 422.
 */
export async function dryRun(
  deps: Pick<ExplainDeps, 'loadSourceSets'>,
  db: Db,
  call: DryRunCall,
): Promise<DryRun> {
  const { before, ...samples } = await inSnapshot(db, async (tx) => ({
    ...(await loadSamples(tx, call)),
    before: await loadAddressPolicy(tx, call.ip),
  }));
  const after = await changedPolicy(db, call);
  const sets = await loadSetsOf(deps, db, after, null);
  return { ...samples, ...compare(call.ip, { before, after, sets }, samples.rows) };
}

async function changedPolicy(db: Db, call: DryRunCall): Promise<Policy> {
  try {
    await db.transaction().execute(async (tx) => {
      await change(tx, call);
      throw new Changed(await loadAddressPolicy(tx, call.ip));
    });
  } catch (error) {
    if (error instanceof Changed) return error.policy;
    throw error;
  }
  throw new Error('a dry run was stored');
}

async function change(tx: Tx, call: DryRunCall): Promise<void> {
  const silent = { events: { addressChanged: () => {} } };
  const { rules = [], filters = [], default: action } = call.body;
  if (rules.length > 0) {
    const wanted = rules.map((rule) => ({ ...rule, ...portOf(rule) }));
    await addNotedRules(silent, tx, call, wanted);
  }
  for (const filter of filters) await createFilters(silent, tx, call, filter);
  if (action !== undefined) await setOwnDefault(tx, call, { target: call.ip, default: action });
}

interface Change {
  readonly before: Policy;
  readonly after: Policy;
  readonly sets: SourceSets;
}

/** Pure: the verdicts on each sample before and after. */
function compare(
  ip: string,
  { before, after, sets: sourceSets }: Change,
  rows: readonly PassedRow[],
): Effect {
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
  for (const row of rows) {
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
