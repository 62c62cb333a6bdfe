import { EMPTY_POLICY } from '@portcullis/core/firewall/policy.ts';
import type { Verdict } from '@portcullis/core/firewall/decide/decide.ts';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { policyFingerprint } from '@portcullis/link/messages/policy-fingerprint.ts';
import type { LiveVerdict } from '@portcullis/link/messages/edge.ts';
import type { QueryEdges } from '../../fleet/index.ts';
import type { ServingEdge } from '../held-store.ts';

/** The verdict of an edge that serves an address. */
export interface EdgeVerdict {
  readonly name: string;
  readonly inService: boolean;
  /** Null when it did not answer in time. */
  readonly answer: LiveVerdict | null;
  /** Whether its policy is the accepted one; null when it did not answer. */
  readonly upToDate: boolean | null;
}

/** Requests the verdicts of the edges, and compares their policies with the accepted one. */
export async function queryServingEdges(
  ask: QueryEdges,
  edges: readonly ServingEdge[],
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
    const sentences: string[] = [];
    if (answer.mode === 'observe') sentences.push(`${name} only observes: it drops nothing.`);
    if (answer.mode === 'no_device')
      sentences.push(`No packet can come in by the devices of ${name}: it drops nothing.`);
    if (edge.upToDate === false) {
      sentences.push(`${name} applies another policy to this address than the accepted one.`);
    }
    if (answer.verdict.action !== accepted.action) {
      const does = answer.verdict.action === 'pass' ? 'passes' : 'drops';
      sentences.push(`${name} ${does} the packet.`);
    }
    if (answer.kernel === 'disturbed') {
      sentences.push(
        `The kernel of ${name} was changed by another program: until it is repaired, packets may be handled differently.`,
      );
    }
    return sentences;
  });
}
