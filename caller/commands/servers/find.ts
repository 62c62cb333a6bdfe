import type { KeyClient } from '@portcullis/client/types.ts';
import { failed } from '../../exit.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The uuid of a server given by uuid or name. Throws if no server or several servers have the name. */
export async function findUuid(client: KeyClient, server: string): Promise<string> {
  if (UUID.test(server)) return server.toLowerCase();
  const { data } = await client.listGameServers();
  const servers = data.filter(({ name }) => name === server);
  const [only, ...others] = servers;
  if (only === undefined) {
    throw failed(`the key sees no server ${server}: "portcullis servers list" shows those it sees`);
  }
  if (others.length === 0) return only.uuid;
  const uuids = servers.map(({ uuid }) => uuid).join(', ');
  throw failed(`several servers are called ${server}; name one by its uuid: ${uuids}`);
}
