import { EMPTY_POLICY } from '@portcullis/core/firewall/policy.ts';
import { sql } from 'kysely';
import type { Verdict } from '@portcullis/core/firewall/decide/decide.ts';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { policyFingerprint } from '@portcullis/link/messages/policy-fingerprint.ts';
import type { LiveVerdict } from '@portcullis/link/messages/edge.ts';
import type { Db, Tx } from '../../db/database.ts';
import type { QueryEdges } from '../../fleet/index.ts';

/** The verdict of an edge that serves an address. */
export interface EdgeVerdict {
  readonly name: string;
  readonly inService: boolean;
  /** Null when it did not answer in time. */
  readonly answer: LiveVerdict | null;
  /** Whether its policy is the accepted one; null when it did not answer. */
  readonly upToDate: boolean | null;
}

export interface SeenEdge {
  readonly name: string;
  readonly inService: boolean;
  /** It was seen within its lease, so it may answer. */
  readonly seenRecently: boolean;
}

const LEASE_SECONDS = 60;

/** Loads the edges that serve the address and have ever connected, including observing ones. */
export async function loadServingEdgesSeen(db: Db | Tx, ip: string): Promise<SeenEdge[]> {
  const { rows } = await sql<SeenEdge>`
    select e.name, e.in_service as "inService",
           coalesce(e.last_seen_at > statement_timestamp() - ${LEASE_SECONDS} * interval '1 second', false) as "seenRecently"
      from edges e
     where e.mode is not null and exists (select from unnest(e.serves) s where s >>= ${ip}::inet)
     order by e.name`.execute(db);
  return rows;
}

/** Asks the edges for their verdicts, and compares their policies with the accepted one. */
export async function queryServingEdges(
  ask: QueryEdges,
  edges: readonly SeenEdge[],
  packet: Packet,
  accepted: Policy,
): Promise<EdgeVerdict[]> {
  const seenRecently = edges.filter((edge) => edge.seenRecently).map(({ name }) => name);
  const answers = await ask(seenRecently, packet);
  const wanted = policyFingerprint(accepted);
  return edges.map(({ name, inService }) => {
    const answer = answers.get(name) ?? null;
    const upToDate = answer && (answer.fingerprint ?? NO_POLICY) === wanted;
    return { name, inService, answer, upToDate };
  });
}

/** The fingerprint of an address without a policy. */
const NO_POLICY = policyFingerprint({
  target: '',
  ...EMPTY_POLICY,
});

/** Pure: a sentence for each difference between an edge and the accepted state. */
export function differences(accepted: Verdict, edges: readonly EdgeVerdict[]): string[] {
  return edges.flatMap((edge) => {
    const { name, answer } = edge;
    if (answer === null) {
      return [`${name} did not answer: it may be away, or connected to another control plane.`];
    }
    const said: string[] = [];
    if (answer.mode === 'observe') said.push(`${name} only observes: it drops nothing.`);
    if (answer.mode === 'no_device')
      said.push(`No packet can come in by the devices of ${name}: it drops nothing.`);
    if (edge.upToDate === false) {
      said.push(`${name} applies another policy to this address than the accepted one.`);
    }
    if (answer.verdict.action !== accepted.action) {
      const does = answer.verdict.action === 'pass' ? 'passes' : 'drops';
      said.push(`${name} ${does} the packet.`);
    }
    if (answer.kernel === 'disturbed') {
      said.push(
        `The kernel of ${name} was changed by another program: until it is repaired, packets may be handled differently.`,
      );
    }
    return said;
  });
}
