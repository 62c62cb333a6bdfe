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
 * | `control.closed` | control | names a replica that closes |
 * | `control.usage` | control | requests that a replica counted for limits |
 * | `control.samples` | control | samples, to the replica that runs the detector |
 */
const ROOT = 'portcullis';

export const GREETINGS = `${ROOT}.*.*.greet`;
export const CONTROL_CLOSED = `${ROOT}.control.closed`;
export const CONTROL_USAGE = `${ROOT}.control.usage`;
export const CONTROL_SAMPLES = `${ROOT}.control.samples`;
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
  /** Of the replies to the agent's requests. */
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

/** What NATS lets an agent do. It may also answer a message that it received, once. */
export function permissionsOf(agent: AgentRef): {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
} {
  const own = subjectsOf(agent);
  return {
    publish: [own.greet, own.request('*')],
    subscribe: [own.call, own.session, own.notice, `${own.inboxPrefix}.>`, CONTROL_CLOSED],
  };
}

/** A full stop separates the tokens of a subject; names of agents have no per cent sign. */
function tokenOf(name: string): string {
  return name.replaceAll('.', '%2E');
}
