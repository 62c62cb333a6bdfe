import { colouredText, plainText } from '@portcullis/core/game-servers/console-text.ts';
import type { ServerResources, ServerState } from '@portcullis/core/game-servers/power.ts';
import type { NodeAnswer, NodeCall } from '@portcullis/link/messages/node.ts';
import type { NodeCalls } from './nodes/calls.ts';
import type { ServerRow } from './store.ts';

/** The state of a server by its node. Null if unknown. */
export interface LiveServer {
  readonly state: ServerState;
  /** Null if not measured yet. */
  readonly resources: ServerResources | null;
  /** Digests of what its instance was launched with (`launchParts`). Null if it does not run, or the node does not say it. */
  readonly launched: Readonly<Record<string, string>> | null;
}

type Reached = Pick<ServerRow, 'node' | 'uuid' | 'provisioned'>;

/** The state of a server by its node. Null if unknown, which is not offline. */
export async function readLive(calls: NodeCalls, server: ServerRow): Promise<LiveServer | null> {
  const answer = await ask(calls, server, { kind: 'look' });
  if (answer?.kind !== 'state') return null;
  const { state, resources, launched } = answer;
  return { state, resources, launched };
}

/** The problem of a server by its node. Null if none or unknown. */
export async function readProblem(calls: NodeCalls, server: Reached): Promise<string | null> {
  const answer = await ask(calls, server, { kind: 'look' });
  if (answer?.kind === 'refused') return answer.reason;
  return answer?.kind === 'state' ? answer.problem : null;
}

export interface ConsoleLines {
  /** Oldest first. Null if unknown. */
  readonly lines: readonly string[] | null;
  /** The sequence number of the last line; null also if the node does not count. */
  readonly lastNumber: number | null;
}

/** The last lines of a console. A node is not trusted with what reaches a terminal, so they are cleaned here too. */
export async function readLines(
  calls: NodeCalls,
  server: ServerRow,
  { last, colours }: { readonly last: number; readonly colours: boolean },
): Promise<ConsoleLines> {
  const answer = await ask(calls, server, { kind: 'lines', last, colours });
  if (answer?.kind !== 'lines') return { lines: null, lastNumber: null };
  const lines = answer.lines.slice(-last).map(colours ? colouredText : plainText);
  return { lines, lastNumber: answer.lastNumber };
}

async function ask(
  calls: NodeCalls,
  server: Reached,
  call: NodeCall['call'],
): Promise<NodeAnswer | null> {
  if (!server.provisioned) return null;
  const outcome = await calls.call(server, call, calls.timeouts.readMs);
  return outcome.kind === 'silent' ? null : outcome;
}
