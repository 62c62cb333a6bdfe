import type { ServerObject } from '@portcullis/contract/schemas/declared/game-server.ts';
import type { Tx } from '../../db/database.ts';
import { findClosedPorts } from '../../firewall/index.ts';
import { loadSourceSets } from '../../fleet/index.ts';
import { PRIMARY, type StoredServer } from './server-table.ts';

/** Ports of a server that players cannot reach, also while it runs. */
export async function explainClosedPorts(tx: Tx, server: StoredServer): Promise<string[]> {
  const closed = await findClosedPorts({ loadSourceSets }, tx, shutPorts(server));
  return closed.map(
    ({ ip, port, protocol, explanation }) =>
      `Players cannot reach ${protocol} ${port} of ${ip}. ${explanation} Let it be open while the server runs (open_while_running), or allow it by a rule.`,
  );
}

/** Ports that the server does not open while it runs. */
function shutPorts({ object, facts }: StoredServer) {
  return object.allocations
    .filter(({ name }, index) => !isOpened(object, index === 0 ? [name, PRIMARY] : [name]))
    .flatMap(({ ip, port, protocols }) =>
      (protocols ?? facts.eggProtocols).map((protocol) => ({ ip, port, protocol })),
    );
}

function isOpened(
  { open_while_running: open }: ServerObject,
  names: readonly (string | null)[],
): boolean {
  return typeof open === 'boolean' ? open : names.some((name) => open.includes(name ?? ''));
}
