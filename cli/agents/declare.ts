import type { Actor } from '@portcullis/control/access/index.ts';
import type { Tx } from '@portcullis/control/db/database.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import { usageError } from '@portcullis/caller/exit.ts';

/** The declaration of a host by its name alone. Cards of Linux are `eth0`, `ens3` or `enp1s0`: the host itself knows which it has. */
const DECLARED = { edge: { devices: ['e*'] }, node: {} } as const;

/** Makes an edge or a node by hand, as the portal's "Add a host" does. Returns false if it is there already. */
export async function declareAgent(
  tx: Tx,
  { kind, name }: AgentRef,
  actor: Actor,
): Promise<boolean> {
  const [{ agentExists }, { kindNamed, operate, saveByHand }] = await Promise.all([
    import('@portcullis/control/agent-credential.ts'),
    import('@portcullis/control/operator/index.ts'),
  ]);
  return operate(tx, async (batch) => {
    if (await agentExists(tx, { kind, name })) return false;
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(name)) {
      throw usageError(
        `--name ${name} is not a name of letters, digits, dots, dashes and underscores, 63 at most`,
      );
    }
    const declared = kindNamed(kind);
    if (kind === 'collector' || declared === undefined) {
      throw usageError('a collector names its exporters: add it in the fleet file or the portal');
    }
    await saveByHand(batch, declared, name, () => ({ name, ...DECLARED[kind] }), { actor });
    return true;
  });
}
