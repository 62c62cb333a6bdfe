import { begins, SUSPENDED } from '@portcullis/core/game-servers/power.ts';
import type { NodeAnswer, NodeCall } from '@portcullis/link/messages/node.ts';
import type { ServerRight } from '@portcullis/core/access/server-rights.ts';
import type { Caller } from '../access/index.ts';
import type { Reader } from '../db/database.ts';
import type { Writing } from '../http/operations/operation.ts';
import type { NodeCalls, Silence } from './nodes/calls.ts';
import { isUnconfirmed, type Outcome, recordAttempt } from './attempt.ts';
import { requireServer, type ServerCall } from './require-server.ts';
import type { ServerRow } from './store.ts';

/** The right that an instruction needs. */
function rightFor(instruction: Instruction): ServerRight {
  if (instruction.kind === 'command') return 'control.console';
  return RIGHT_OF_SIGNAL[instruction.signal];
}

const RIGHT_OF_SIGNAL = {
  start: 'control.start',
  stop: 'control.stop',
  kill: 'control.stop',
  restart: 'control.restart',
} as const satisfies Record<string, ServerRight>;

export type Instruction = Extract<NodeCall['call'], { readonly kind: 'power' | 'command' }>;

/** The responses of power and command: 4.9 and 4.10 of the interface. */
export interface Acknowledged {
  readonly status: 200 | 422 | 502;
  readonly body: { readonly ok: boolean; readonly message: string };
}

/**
 * Sends an instruction to the server's node and waits for its answer. Audited before it is sent, and its outcome after.
 */
export async function instruct(
  calls: NodeCalls,
  db: Reader,
  call: ServerCall & Writing<Caller>,
  instruction: Instruction,
): Promise<Acknowledged> {
  const server = await requireServer(db, call, rightFor(instruction));
  if (!server.provisioned) return refused(422, wordUnprovisioned(server));
  const { kind, ...detail } = instruction;
  const attempt = await recordAttempt(db, call, {
    action: kind,
    detail,
    check: (tx, by) => requireServer(tx, { ...call, by }, rightFor(instruction)),
  });
  const withinMs = calls.timeouts.instructMs;
  // The node learns of it a moment later.
  const outcome =
    server.suspended && instruction.kind === 'power' && begins(instruction.signal)
      ? ({ kind: 'refused', reason: SUSPENDED } as const)
      : await calls.call(server, instruction, withinMs);
  const acknowledged = acknowledge(outcome, withinMs);
  await attempt.close(outcomeOf(outcome, acknowledged.body));
  return acknowledged;
}

function outcomeOf(answer: NodeAnswer | Silence, { message }: Acknowledged['body']): Outcome {
  if (answer.kind === 'accepted') return { kind: 'done' };
  return { kind: isUnconfirmed(answer) ? 'unconfirmed' : 'refused', message };
}

function acknowledge(outcome: NodeAnswer | Silence, withinMs: number): Acknowledged {
  switch (outcome.kind) {
    case 'accepted':
      return { status: 200, body: { ok: true, message: '' } };
    case 'refused':
      return refused(502, `The node refused: ${asClause(outcome.reason)}`);
    case 'silent':
      return refused(502, wordSilence(outcome.why, withinMs));
    case 'state':
    case 'lines':
    default:
      return refused(502, 'The node refused: it did not understand, so it must be updated.');
  }
}

function refused(status: 422 | 502, message: string): Acknowledged {
  return { status, body: { ok: false, message } };
}

function wordUnprovisioned({ buildState }: ServerRow): string {
  const notYet = 'The server is not provisioned yet.';
  return buildState === 'failed' ? `${notYet} Building it failed.` : notYet;
}

function wordSilence(why: Silence['why'], withinMs: number): string {
  switch (why) {
    case 'absent':
      return 'The node did not answer: it is not connected.';
    case 'busy':
      return 'The node did not answer: too much is asked of it already. Try again.';
    case 'cut':
      return 'The connection to the node ended before it answered. It may have taken it all the same: look at the state of the server.';
    case 'late':
    default:
      return `The node did not answer within ${withinMs / 1000} s. It may have taken it all the same: look at the state of the server.`;
  }
}

/** Appends the node's sentence after a colon. */
function asClause(sentence: string): string {
  const text = sentence.trim().replace(/\.+$/, '');
  const clause = /^\p{Lu}\p{Ll}/u.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
  return `${clause === '' ? 'it gave no reason' : clause}.`;
}
