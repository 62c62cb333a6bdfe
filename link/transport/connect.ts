import { parseCredential } from '../credential.ts';
import type { AgentRef } from '../messages/messages.ts';
import { connectIpc } from './ipc.ts';
import type { AgentSide } from './transport.ts';

export interface ControlPlace {
  readonly agent: AgentRef;
  /** The contents of its credential file; null only where control requires none. */
  readonly credential: string | null;
  /** The socket of control on this host, for a credential that names no NATS servers. */
  readonly path: string;
}

/** Whether a credential is of an agent of another host than control's. */
export function isRemote(credential: string | null): boolean {
  const parsed = credential === null ? null : parseCredential(credential);
  return parsed?.ok === true && parsed.value.remote !== null;
}

/** Connects an agent to control by its credential. Rejects if that cannot be read; the reason quotes nothing of it. */
export async function connectControl({
  agent,
  credential,
  path,
}: ControlPlace): Promise<AgentSide> {
  if (credential === null) return connectIpc({ agent, path });
  const parsed = parseCredential(credential);
  if (!parsed.ok) throw new Error(parsed.reason);
  const { secret, remote } = parsed.value;
  if (remote === null) return connectIpc({ agent, path, credential: secret });
  if (remote.kind !== agent.kind || remote.name !== agent.name) {
    throw new Error(`the credential is of the ${remote.kind} ${remote.name}`);
  }
  // An agent on control's host does without the library.
  const [{ NatsAgent }, { agentKey }] = await Promise.all([
    import('../nats/agent.ts'),
    import('../nats/keys.ts'),
  ]);
  return new NatsAgent({ agent, credential: secret }, { ...remote.nats, key: agentKey(secret) });
}
