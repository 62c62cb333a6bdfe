import type { Actor } from '@portcullis/control/access/index.ts';
import type { Tx } from '@portcullis/control/db/database.ts';
import type { Batch } from '@portcullis/control/fleet/batch.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import { usageError } from '@portcullis/caller/exit.ts';

/** Cards of Linux are `eth0`, `ens3` or `enp1s0`: the host itself knows which it has. */
const ANY_CARD = 'e*';

/** Makes an edge or a node by hand, as the portal's "Add a host" does. Returns false if it is there already. */
export async function declareAgent(
  tx: Tx,
  { kind, name }: AgentRef,
  actor: Actor,
): Promise<boolean> {
  const [{ agentExists }, { Batch: NewBatch }, { recordAudit }, { lockInstallation }] =
    await Promise.all([
      import('@portcullis/control/agent-credential.ts'),
      import('@portcullis/control/fleet/batch.ts'),
      import('@portcullis/control/access/index.ts'),
      import('@portcullis/control/db/locks.ts'),
    ]);
  await lockInstallation(tx);
  if (await agentExists(tx, { kind, name })) return false;
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(name)) {
    throw usageError(
      `--name ${name} is not a name of letters, digits, dots, dashes and underscores, 63 at most`,
    );
  }
  const batch = new NewBatch(tx, 'portal');
  if (kind === 'edge') {
    await declareEdge(batch, name, actor);
    return true;
  }
  if (kind === 'node') await declareNode(batch, name);
  else throw usageError('a collector names its exporters: add it in the fleet file or the portal');
  const action = `${kind}.create`;
  const generation = await batch.takeGeneration(action);
  const target = `${kind}:${name}`;
  await recordAudit(tx, { actor, organisationId: null, action, target, generation });
  return true;
}

async function declareEdge(batch: Batch, name: string, actor: Actor): Promise<void> {
  const { kindNamed, saveByHand } = await import('@portcullis/control/operator/index.ts');
  const kind = kindNamed('edge');
  if (kind === undefined) throw new Error('there is no kind of edges');
  await saveByHand(batch, kind, name, () => ({ name, devices: [ANY_CARD] }), { actor });
}

async function declareNode(batch: Batch, name: string): Promise<void> {
  const [{ saveNode }, { parsePart }, { parseNodes }] = await Promise.all([
    import('@portcullis/control/declared/nodes.ts'),
    import('@portcullis/control/fleet-file/part.ts'),
    import('@portcullis/control/fleet-file/parse/game-servers.ts'),
  ]);
  const entries = [{ name }];
  const [node] = parsePart(entries, (scope) => parseNodes(entries, scope));
  if (node !== undefined) await saveNode(batch, node);
}
