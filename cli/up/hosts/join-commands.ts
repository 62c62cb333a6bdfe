import type { Tx } from '@portcullis/control/db/database.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import { createJoinCommand } from '../../agents/join-command.ts';
import { declareAgent } from '../../agents/declare.ts';
import { operator, withUrl } from '../../database.ts';

/** A host that may join now. */
export interface Invitation {
  readonly kind: 'edge' | 'node';
  readonly name: string;
  readonly command: string;
  readonly expiresAt: Date;
}

const LASTS_MS = 3_600_000;
/** More are joined by `tokens create`. */
const MOST_OF_A_KIND = 3;

/**
 * Makes the commands for the edges and nodes of the fleet that have not joined yet. Where no fleet file says which there
 * are, and none is on another host, an edge and a node are made. `here`: the agents of this host.
 */
export function inviteHosts(
  databaseUrl: string,
  {
    url,
    here,
    hasFleetFile,
  }: {
    readonly url: string;
    readonly here: Readonly<Record<'edge' | 'node', string | null>>;
    readonly hasFleetFile: boolean;
  },
): Promise<readonly Invitation[]> {
  return withUrl(databaseUrl, async (db) => {
    const invitations: Invitation[] = [];
    // A transaction each: what declares an edge takes a generation, and nodes are locked before that.
    for (const kind of ['edge', 'node'] as const) {
      const made = await db
        .transaction()
        .execute((tx) => inviteKind(tx, { kind, url, here: here[kind], hasFleetFile }));
      invitations.push(...made);
    }
    return invitations;
  });
}

interface Inviting {
  readonly kind: 'edge' | 'node';
  readonly url: string;
  readonly here: string | null;
  readonly hasFleetFile: boolean;
}

async function inviteKind(
  tx: Tx,
  { kind, url, here, hasFleetFile }: Inviting,
): Promise<Invitation[]> {
  const others = async () => {
    const rows = await tx
      .selectFrom(kind === 'edge' ? 'edges' : 'nodes')
      .select(['name', 'enrolled_at as enrolledAt'])
      .orderBy('id')
      .execute();
    return rows.filter(({ name }) => name !== here);
  };
  if (!hasFleetFile && (await others()).length === 0)
    await declareAgent(tx, { kind, name: `${kind}-1` }, operator());
  const invitations: Invitation[] = [];
  const waiting = (await others()).filter(({ enrolledAt }) => enrolledAt === null);
  for (const { name } of waiting.slice(0, MOST_OF_A_KIND)) {
    const agent: AgentRef = { kind, name };
    const made = await createJoinCommand(
      tx,
      { agent, url, lastsMs: LASTS_MS, needsApproval: false },
      operator(),
    );
    if (made !== null) invitations.push({ kind, name, ...made });
  }
  return invitations;
}
