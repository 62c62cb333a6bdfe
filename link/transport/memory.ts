import { type Duplex, duplexPair } from 'node:stream';
import type { AgentRef } from '../messages/messages.ts';
import { AgentConnection } from './agent-side.ts';
import { AgentConnections } from './control-side.ts';
import type { ServeOptions } from './handling.ts';
import type { Admit, AgentHandler, AgentSide, ControlSide } from './transport.ts';

export interface MemoryLink {
  readonly control: ControlSide;
  connect(agent: AgentRef, credential?: string): AgentSide;
  /** Serves again after `control.close()`, as a restarted control plane would; agents reconnect. */
  serve(handler: AgentHandler, admit?: Admit): ControlSide;
}

/** Both sides in one process, for tests: the connections of ipc.ts, over streams in memory. */
export function createMemoryLink(handler: AgentHandler, admit?: Admit): MemoryLink {
  const agents: AgentConnection[] = [];
  let served: AgentConnections | null = null;
  const open = (): Duplex | null => {
    if (served === null) return null;
    const [ours, theirs] = duplexPair({ allowHalfOpen: false });
    // As with a socket, both ends close together.
    ours.once('close', () => theirs.destroy());
    theirs.once('close', () => ours.destroy());
    served.accept(theirs);
    return ours;
  };
  const serve = (options: ServeOptions): ControlSide => {
    if (served !== null) throw new Error('control is already there');
    const connections = new AgentConnections(options);
    served = connections;
    for (const agent of agents) agent.connect();
    return {
      call: (agent, call, timeoutMs) => connections.call(agent, call, timeoutMs),
      notify: (notice) => connections.notify(notice),
      admitted: (kind) => connections.admitted(kind),
      recheck: (matches) => connections.recheck(matches),
      close: async () => {
        if (served === connections) served = null;
        await connections.close();
      },
    };
  };
  const withAdmit = (next: AgentHandler, nextAdmit?: Admit): ServeOptions => ({
    handler: next,
    ...(nextAdmit && { admit: nextAdmit }),
  });
  return {
    control: serve(withAdmit(handler, admit)),
    serve: (next, nextAdmit) => serve(withAdmit(next, nextAdmit)),
    connect: (agent, credential) => {
      const side = new AgentConnection({ agent, ...(credential && { credential }) }, open);
      agents.push(side);
      return side;
    },
  };
}
