import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { AgentRef, ControlReply } from '../messages/messages.ts';
import type { EdgeConfirm } from '../messages/edge.ts';
import type { NodeHello } from '../messages/node.ts';
import {
  type Admit,
  type AgentHandler,
  type AgentSide,
  type ControlSide,
  LinkError,
} from '../transport/transport.ts';

/** A transport under test, on which control can stop and start again. */
export interface Meeting {
  serve(handler: AgentHandler, admit?: Admit): Promise<ControlSide>;
  connect(agent: AgentRef, credential?: string): AgentSide;
  end(): Promise<void>;
}

export const EDGE: AgentRef = { kind: 'edge', name: 'fra1' };
export const NODE: AgentRef = { kind: 'node', name: 'node-1' };
export const DONE: ControlReply = { kind: 'done' };
/** For an answer that comes, on a busy machine too. */
export const TIMEOUT_MS = 30_000;

export type Meet = (t: TestContext) => Promise<Meeting>;

export async function serve(
  t: TestContext,
  meeting: Meeting,
  handler: AgentHandler,
  admit?: Admit,
): Promise<ControlSide> {
  const control = await meeting.serve(handler, admit);
  t.after(() => control.close());
  return control;
}

export async function connected(
  t: TestContext,
  meeting: Meeting,
  agent: AgentRef = EDGE,
): Promise<AgentSide> {
  const side = meeting.connect(agent);
  t.after(() => side.close());
  await nextConnect(side);
  return side;
}

/** Resolves at this connection from now; an existing one counts as the first. */
export function nextConnect(agent: AgentSide, count = 1): Promise<void> {
  let seen = 0;
  return new Promise((resolve) => {
    agent.onConnect(() => {
      seen += 1;
      if (seen === count) resolve();
    });
  });
}

/** Repeats an attempt until it does not reject: the other side knows of a change a moment later. */
export async function eventually(attempt: () => Promise<void>): Promise<void> {
  for (let tries = 0; tries < 4_000; tries += 1) {
    const failed = await attempt().then(
      () => false,
      () => true,
    );
    if (!failed) return;
    await delay(5);
  }
  await attempt();
}

export function linkError(code: LinkError['code']): (error: unknown) => boolean {
  return (error) => error instanceof LinkError && error.code === code;
}

export function confirm(generation: number): EdgeConfirm {
  return { kind: 'edge.confirm', instance: 'instance-1', generation, refused: [] };
}

export function nodeHello(): NodeHello {
  return { kind: 'node.hello', protocolVersion: 1, instance: 'instance-1' };
}
