import { countOf } from '@portcullis/core/count.ts';
import { decide } from '@portcullis/core/firewall/decide/decide.ts';
import { FIRST_PACKET } from '@portcullis/core/firewall/decide/first-packet.ts';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import { createPolicyTable } from '@portcullis/core/firewall/policy-table.ts';
import type { Db } from '../../db/database.ts';
import { inSnapshot, loadAddressPolicy } from '../../fleet/policies/policies.ts';
import type { AddressCall } from '../../http/operations/operation.ts';
import { ANY_EDGE } from '../explain/any-edge.ts';
import { packetOf } from '../explain/packet.ts';
import { loadSetsOf, type SourceSetLoader } from '../explain/policy-sets.ts';
import {
  inTurns,
  loadSamples,
  type PassedRow,
  protocolName,
  type Samples,
} from '../samples/store.ts';
import { SAMPLED_ONE_IN } from '@portcullis/core/firewall/passed.ts';
import { timeView } from '../../http/operations/view.ts';

interface Counts {
  readonly samples: number;
  readonly sources: number;
}
interface PreviewedPort {
  readonly protocol: number;
  readonly port: number | null;
  readonly dropped: Counts;
  readonly passed: Counts;
  readonly lastAt: Date;
}
interface DefaultPreview extends Omit<Samples, 'rows'> {
  /** Ports by what would be dropped, most first. */
  readonly ports: readonly PreviewedPort[];
  /** Samples of packets that something else than the default drops by now. */
  readonly deniedAlready: number;
}

const NONE: Counts = { samples: 0, sources: 0 };

/**
 * Packets that a default of deny would drop, of those that edges sampled in the last day, by the rules that are accepted
 * now. Throws 404.
 */
export async function previewDefault(
  deps: SourceSetLoader,
  db: Db,
  call: AddressCall,
): Promise<DefaultPreview> {
  const { policy, samples } = await inSnapshot(db, async (tx) => ({
    samples: await loadSamples(tx, call),
    policy: { ...(await loadAddressPolicy(tx, call.params.ip)), default: 'deny' as const },
  }));
  const sourceSets = await loadSetsOf(deps, db, policy, null);
  return { ...samples, ...(await evaluate(call.params.ip, policy, sourceSets, samples.rows)) };
}

/** Pure: the verdict of each sample, by port. */
async function evaluate(
  ip: string,
  policy: Policy,
  sourceSets: SourceSets,
  rows: readonly PassedRow[],
): Promise<Pick<DefaultPreview, 'ports' | 'deniedAlready'>> {
  const world = { settings: ANY_EDGE, policies: createPolicyTable([policy]), sourceSets };
  const ports = new Map<string, PreviewedPort>();
  let deniedAlready = 0;
  for await (const { protocol, port, source, packets, lastAt } of inTurns(rows)) {
    const verdict = decide(world, packetOf(ip, { protocol, port, source }), FIRST_PACKET);
    const isDropped = verdict.action === 'drop';
    if (isDropped && verdict.stage !== 'default') {
      deniedAlready += packets;
      continue;
    }
    const key = `${protocol} ${port}`;
    const known = ports.get(key) ?? { protocol, port, dropped: NONE, passed: NONE, lastAt };
    ports.set(key, {
      ...known,
      [isDropped ? 'dropped' : 'passed']: add(isDropped ? known.dropped : known.passed, packets),
      lastAt: known.lastAt > lastAt ? known.lastAt : lastAt,
    });
  }
  const sorted = [...ports.values()].toSorted(
    (a, b) =>
      b.dropped.samples - a.dropped.samples ||
      b.passed.samples - a.passed.samples ||
      a.protocol - b.protocol ||
      (a.port ?? 0) - (b.port ?? 0),
  );
  return { ports: sorted, deniedAlready };
}

function add({ samples, sources }: Counts, packets: number): Counts {
  return { samples: samples + packets, sources: sources + 1 };
}

/** The most ports that the sentence lists. */
const LISTED = 5;

const SAMPLING = `These are samples, not all packets: those of connections without an answer yet and one of ${SAMPLED_ONE_IN} others.`;
const NOTHING =
  'No edge has reported a sample of the last day, so nothing is known of what a default of deny would drop.';

export function previewView(ip: string, preview: DefaultPreview) {
  const { ports, window, deniedAlready, edges, isComplete } = preview;
  const dropped = sum(ports.map((one) => one.dropped.samples));
  const samples = dropped + sum(ports.map((one) => one.passed.samples)) + deniedAlready;
  return {
    data: {
      ip,
      default: preview.state.default,
      ports: ports.map((one) => ({
        protocol: one.protocol,
        port: one.port,
        dropped: one.dropped,
        passed: one.passed,
        last_seen_at: timeView(one.lastAt),
      })),
    },
    message: samples === 0 ? NOTHING : `${sentence(ports, samples, dropped)} ${SAMPLING}`,
    meta: {
      from: timeView(window.from),
      to: timeView(window.to),
      sampled_one_in: SAMPLED_ONE_IN,
      samples,
      denied_already: deniedAlready,
      edges,
      is_complete: isComplete,
    },
  };
}

function sentence(ports: readonly PreviewedPort[], samples: number, dropped: number): string {
  const what = `Of ${countOf(samples, 'sampled packet')} of the last day a default of deny would drop`;
  if (dropped === 0) return `${what} none.`;
  const hit = ports.filter((one) => one.dropped.samples > 0);
  const listed = hit.slice(0, LISTED).map((one) => {
    const name = protocolName(one.protocol);
    const { samples: packets, sources } = one.dropped;
    return `${name}${one.port === null ? '' : ` ${one.port}`} (${countOf(packets, 'sample')} from ${countOf(sources, 'source')})`;
  });
  const more = hit.length > LISTED ? `, and ${countOf(hit.length - LISTED, 'more port')}` : '';
  return `${what} ${dropped}: ${listed.join(', ')}${more}.`;
}

function sum(list: readonly number[]): number {
  return list.reduce((all, one) => all + one, 0);
}
