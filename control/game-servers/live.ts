import { colouredText, plainText } from '@portcullis/core/game-servers/console-text.ts';
import type { ServerResources, ServerState } from '@portcullis/core/game-servers/power.ts';
import type { CallAnswer, NodeCall } from '@portcullis/link/messages/node.ts';
import type { GameServerEvents } from './events.ts';
import type { CallNode } from './nodes/calls.ts';
import type { ServerRow } from './store.ts';

/** The state of a server by its node. Null if unknown. */
export interface LiveServer {
  readonly state: ServerState;
  /** Null if not measured yet. */
  readonly resources: ServerResources | null;
}

type Reached = Pick<ServerRow, 'node' | 'uuid' | 'provisioned'>;

export interface LiveDeps {
  readonly callNode: CallNode;
  readonly events: GameServerEvents;
  /** The timeout of a read from a node. */
  readonly withinMs: number;
}

/** The state of a server by its node. Null if unknown, which is not offline. */
export async function readLive(deps: LiveDeps, server: ServerRow): Promise<LiveServer | null> {
  const answer = await ask(deps, server, { kind: 'look' });
  return answer?.kind === 'state' ? { state: answer.state, resources: answer.resources } : null;
}

/** The problem of a server by its node. Null if none or unknown. */
export async function readProblem(deps: LiveDeps, server: Reached): Promise<string | null> {
  const answer = await ask(deps, server, { kind: 'look' });
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
  deps: LiveDeps,
  server: ServerRow,
  { last, colours }: { readonly last: number; readonly colours: boolean },
): Promise<ConsoleLines> {
  const answer = await ask(deps, server, { kind: 'lines', last, colours });
  if (answer?.kind !== 'lines') return { lines: null, lastNumber: null };
  const lines = answer.lines.slice(-last).map(colours ? colouredText : plainText);
  return { lines, lastNumber: answer.lastNumber };
}

async function ask(
  { callNode, events, withinMs }: LiveDeps,
  { node, uuid, provisioned }: Reached,
  call: NodeCall['call'],
): Promise<CallAnswer | null> {
  if (!provisioned) return null;
  const startMs = performance.now();
  const outcome = await callNode({ node, uuid, withinMs, call });
  events.called(node, call.kind, outcome, performance.now() - startMs);
  return outcome.kind === 'silent' ? null : outcome;
}
