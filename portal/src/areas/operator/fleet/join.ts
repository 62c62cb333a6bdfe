import { personClient } from '../../../session/session.ts';

export type AgentKind = 'edges' | 'nodes' | 'collectors';

/** The command by which a host joins as an agent, shown once. */
export interface MadeCommand {
  readonly name: string;
  readonly command: string;
}

export async function joinCommandOf(kind: AgentKind, name: string): Promise<MadeCommand> {
  const { data } = await personClient.createJoinCommand({ kind, name, body: {} });
  return { name, command: data.command ?? '' };
}
