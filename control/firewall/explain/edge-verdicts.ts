import { sql } from 'kysely';
import type { Verdict } from '@portcullis/core/firewall/decide.ts';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { policyFingerprint } from '@portcullis/link/messages/policy-fingerprint.ts';
import type { LiveVerdict } from '@portcullis/link/messages/edge.ts';
import type { Db, Tx } from '../../db/database.ts';
import type { QueryEdges } from '../../fleet/index.ts';

/** An edge that serves an address, and what it would do with a packet to it. */
export interface EdgeVerdict {
  readonly name: string;
  readonly inService: boolean;
  /** Null: it did not answer in time. */
  readonly answer: LiveVerdict | null;
  /** Whether its policy is the accepted one; null: it did not answer. */
  readonly upToDate: boolean | null;
}

export interface AskableEdge {
  readonly name: string;
  readonly inService: boolean;
  /** It was heard within its lease, so it may answer. */
  readonly heard: boolean;
}

const LEASE_SECONDS = 60;

/** Edges that serve the address and were ever heard of, observing ones too. */
export async function loadAskableEdges(db: Db | Tx, ip: string): Promise<AskableEdge[]> {
  const { rows } = await sql<AskableEdge>`
    select e.name, e.in_service as "inService",
           coalesce(e.last_seen_at > statement_timestamp() - ${LEASE_SECONDS} * interval '1 second', false) as heard
      from edges e
     where e.mode is not null and exists (select from unnest(e.serves) s where s >>= ${ip}::inet)
     order by e.name`.execute(db);
  return rows;
}

/** Puts the packet to the edges, and compares by what they judge with what is accepted. */
export async function askServing(
  ask: QueryEdges,
  edges: readonly AskableEdge[],
  packet: Packet,
  accepted: Policy,
): Promise<EdgeVerdict[]> {
  const heard = edges.filter((edge) => edge.heard).map(({ name }) => name);
  const answers = await ask(heard, packet);
  const wanted = policyFingerprint(accepted);
  return edges.map(({ name, inService }) => {
    const answer = answers.get(name) ?? null;
    const upToDate = answer && (answer.fingerprint ?? NO_POLICY) === wanted;
    return { name, inService, answer, upToDate };
  });
}

/** Where no policy covers an address, accepted is the empty one. */
const NO_POLICY = policyFingerprint({
  target: '',
  mitigations: [],
  baseline: [],
  geo: [],
  rules: [],
  filters: [],
});

/** Pure: where edges and what is accepted do not agree, a sentence each. */
export function differences(accepted: Verdict, edges: readonly EdgeVerdict[]): string[] {
  return edges.flatMap((edge) => {
    const { name, answer } = edge;
    if (answer === null) {
      return [`${name} did not answer: it may be away, or connected to another control plane.`];
    }
    const said: string[] = [];
    if (answer.mode === 'observe') said.push(`${name} only observes: it drops nothing.`);
    if (edge.upToDate === false) {
      said.push(`${name} judges this address by another policy than the accepted one.`);
    }
    if (answer.verdict.action !== accepted.action) {
      const does = answer.verdict.action === 'pass' ? 'passes' : 'drops';
      said.push(`${name} ${does} the packet.`);
    }
    if (answer.kernel === 'disturbed') {
      said.push(
        `Somebody changed the kernel of ${name}: until it is mended, packets may meet something else.`,
      );
    }
    return said;
  });
}
