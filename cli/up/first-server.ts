import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { Tx } from '@portcullis/control/db/database.ts';
import { createGameServer } from '@portcullis/control/fleet-file/apply/game-servers.ts';
import { loadEggs } from '@portcullis/control/fleet-file/read/egg-files.ts';
import { EXAMPLE_EGG_NAME, SHIPPED_EGGS } from '../shipped-eggs.ts';
import { LOCAL_NODE } from './local-names.ts';

/** The small server that a first start makes, so that the first call of every operation meets something alive. */
export interface FirstServer {
  readonly uuid: string;
  readonly name: string;
  readonly port: number;
}

const NAME = 'Hearth';
const LIKED_PORT = 4_000;
/** Reached from this host alone, until somebody gives it an address on purpose. */
const LOOPBACK = '127.0.0.1';
const LIMITS = { memory: 256, cpu: 100, disk: 512 };

export async function makeFirstServer(
  tx: Tx,
  { organisationId, serviceId }: { readonly organisationId: number; readonly serviceId: number },
): Promise<FirstServer> {
  await tx.insertInto('nodes').values({ name: LOCAL_NODE, owner: 'portal' }).execute();
  const eggs = await loadEggs([EXAMPLE_EGG_NAME], '.', SHIPPED_EGGS);
  const egg = eggs.get(EXAMPLE_EGG_NAME);
  if (egg?.ok !== true) throw new Error(`the shipped egg cannot be used: ${egg?.reason ?? ''}`);
  const uuid = randomUUID();
  const port = await freePort();
  const server = {
    uuid,
    serviceId,
    name: NAME,
    node: LOCAL_NODE,
    eggName: EXAMPLE_EGG_NAME,
    egg: egg.found,
    image: null,
    variables: {},
    limits: LIMITS,
    ip: LOOPBACK,
    port,
    suspended: false,
    crashes: { restart: true, withinMs: 60_000 },
  };
  await createGameServer(tx, server, { organisationId, owner: 'portal' });
  return { uuid, name: NAME, port };
}

/** One that nobody listens at now; who comes before the server does has it, and the server says so. */
async function freePort(): Promise<number> {
  for (const wanted of [LIKED_PORT, 0]) {
    const probe = createServer();
    try {
      probe.listen(wanted, LOOPBACK);
      await once(probe, 'listening');
      return (probe.address() as AddressInfo).port;
    } catch {
      // Taken: any other will do.
    } finally {
      probe.close();
    }
  }
  return LIKED_PORT;
}
