import type { AgentRef } from '../messages/messages.ts';

/**
 * Subjects below `portcullis.KIND.NAME` are one agent's own: only that agent and control may use them.
 *
 * | subject | from | for |
 * |---|---|---|
 * | `KIND.NAME.greet` | agent | its credential; any replica of control admits it |
 * | `KIND.NAME.request.REPLICA` | agent | its requests, to the replica that admitted it |
 * | `KIND.NAME.call` | control | calls to the agent |
 * | `KIND.NAME.session` | control | ends sessions of the agent |
 * | `KIND.NAME.notice` | control | notices to the agent, from the replica that admitted it |
 *
 * The replicas of control have an account of their own, which nothing of the fleet's account can reach:
 *
 * | subject | for |
 * |---|---|
 * | `control.usage` | requests that a replica counted for limits |
 * | `control.samples` | samples, to the replica that runs the detector |
 */
const ROOT = 'portcullis';

export const GREETINGS = `${ROOT}.*.*.greet`;
export const CONTROL_USAGE = `${ROOT}.control.usage`;
export const CONTROL_SAMPLES = `${ROOT}.control.samples`;
/** Only an agent of version 0.1 subscribes to it. Nothing is sent there any more. */
const CLOSED_BEFORE = `${ROOT}.control.closed`;
/** Replicas of control share the greetings. */
export const CONTROL_QUEUE = 'control';

export function requestsOf(replica: string): string {
  return `${ROOT}.*.*.request.${replica}`;
}

export interface AgentSubjects {
  readonly greet: string;
  readonly call: string;
  readonly session: string;
  readonly notice: string;
  readonly request: (replica: string) => string;
  /** The prefix of the replies to the agent's requests. */
  readonly inboxPrefix: string;
}

export function subjectsOf({ kind, name }: AgentRef): AgentSubjects {
  const own = `${ROOT}.${kind}.${tokenOf(name)}`;
  return {
    greet: `${own}.greet`,
    call: `${own}.call`,
    session: `${own}.session`,
    notice: `${own}.notice`,
    request: (replica) => `${own}.request.${replica}`,
    inboxPrefix: `${own}.inbox`,
  };
}

/** The agent that a subject of a greeting or request belongs to. */
export function agentOf(subject: string): { readonly kind: string; readonly name: string } {
  const [, kind = '', token = ''] = subject.split('.');
  return { kind, name: token.replaceAll('%2E', '.') };
}

const MAX_SUBJECT_LENGTH = 512;
const TOKENS = /^[^\s.*>]+(?:\.[^\s.*>]+)*$/;

/**
 * Whether a reply goes to the agent's own inbox. NATS checks the subject of a message against the permissions of its
 * sender, but not the reply subject: an agent can name any.
 */
export function isOwnInbox(agent: AgentRef, reply: string | undefined): reply is string {
  const prefix = `${subjectsOf(agent).inboxPrefix}.`;
  return (
    reply !== undefined &&
    reply.length <= MAX_SUBJECT_LENGTH &&
    reply.startsWith(prefix) &&
    TOKENS.test(reply.slice(prefix.length))
  );
}

/** The permissions of an agent. It may also answer a message that it received, once. */
export function permissionsOf(agent: AgentRef): {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
} {
  const own = subjectsOf(agent);
  return {
    publish: [own.greet, own.request('*')],
    subscribe: [own.call, own.session, own.notice, `${own.inboxPrefix}.>`, CLOSED_BEFORE],
  };
}

/** A full stop separates the tokens of a subject; names of agents have no per cent sign. */
function tokenOf(name: string): string {
  return name.replaceAll('.', '%2E');
}
