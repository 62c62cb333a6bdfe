import type { Packet } from '@portcullis/core/firewall/packet.ts';
import type { LiveVerdict } from '@portcullis/link/messages/edge.ts';
import type { ControlSide } from '@portcullis/link/transport/transport.ts';

/** Queries edges for their verdict on a packet. Returns the answers that arrived in time. */
export type QueryEdges = (
  edges: readonly string[],
  packet: Packet,
) => Promise<ReadonlyMap<string, LiveVerdict>>;

/** Short, because a caller waits. Edges answer within milliseconds unless they are applying or absent. */
const TIMEOUT_MS = 1_500;

/** Queries over this link; null: there is none yet, and no edge answers. */
export function createEdgeQueries(
  link: () => Pick<ControlSide, 'call'> | null,
  timeoutMs = TIMEOUT_MS,
): QueryEdges {
  return async (edges, packet) => {
    const answers = new Map<string, LiveVerdict>();
    const query = async (name: string): Promise<void> => {
      const call = { kind: 'edge.explain', packet } as const;
      const answer = await link()?.call({ kind: 'edge', name }, call, timeoutMs);
      if (answer !== undefined) answers.set(name, answer.live);
    };
    // An edge that is away or late is missing in the answers.
    await Promise.allSettled(edges.map(query));
    return answers;
  };
}
