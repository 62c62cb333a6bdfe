import { createKey, recordAudit } from '@portcullis/control/access/index.ts';
import type { Db, Tx } from '@portcullis/control/db/database.ts';
import { Batch } from '@portcullis/control/fleet/batch.ts';
import { ABILITIES } from '@portcullis/core/access/abilities.ts';
import { operator } from '../database.ts';
import { FIRST_ORGANISATION, LOCAL_NAME } from '../options.ts';
import { EXAMPLE_ADDRESS, type HostNetwork } from './host-network.ts';
import { FIRST_KEY } from './first-key.ts';
import { type FirstServer, createFirstServer } from './first-server.ts';

/** Everything that the first start created. */
export interface FirstStart {
  readonly organisation: string;
  /** The secret of the key, which cannot be read again. */
  readonly secret: string;
  readonly addresses: readonly string[];
  readonly server: FirstServer;
}

const SERVICE_ID = 1;

/**
 * Creates, on an empty database, an organisation that holds this host's addresses, an edge for its devices, a node with
 * a small game server, and a key. Returns null if there is an organisation or an edge already.
 */
export async function createFirstStart(db: Db, network: HostNetwork): Promise<FirstStart | null> {
  return db.transaction().execute(async (tx) => {
    // A concurrent first start waits for this lock and then finds the work of this one.
    await tx.selectFrom('fleet').select('generation').forUpdate().execute();
    if (!(await isEmpty(tx))) return null;
    const addresses = network.addresses.length > 0 ? network.addresses : [EXAMPLE_ADDRESS];
    const organisationId = await createOrganisation(tx, addresses);
    await createEdge(tx, network.devices);
    const batch = new Batch(tx, 'portal');
    const server = await createFirstServer(batch, {
      organisation: FIRST_ORGANISATION,
      service: SERVICE_ID,
      ip: network.addresses.find((address) => !address.includes(':')) ?? null,
    });
    const actor = operator();
    const key = await createKey(
      tx,
      { organisationId, name: FIRST_KEY, abilities: ABILITIES, owner: 'portal' },
      actor,
    );
    batch.touch(...addresses);
    const generation = await batch.takeGeneration('first start');
    await recordAudit(tx, {
      actor,
      organisationId,
      action: 'organisation.create',
      target: FIRST_ORGANISATION,
      detail: { addresses },
      generation,
    });
    return { organisation: FIRST_ORGANISATION, secret: key.secret, addresses, server };
  });
}

async function isEmpty(tx: Tx): Promise<boolean> {
  const organisation = await tx
    .selectFrom('organisations')
    .select('id')
    .limit(1)
    .executeTakeFirst();
  const edge = await tx.selectFrom('edges').select('id').limit(1).executeTakeFirst();
  return organisation === undefined && edge === undefined;
}

async function createOrganisation(tx: Tx, addresses: readonly string[]): Promise<number> {
  const { id } = await tx
    .insertInto('organisations')
    .values({
      slug: FIRST_ORGANISATION,
      name: 'Default',
      flags: ['firewall_api', 'attack_history_api'],
      owner: 'portal',
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  await tx
    .insertInto('services')
    // Its service manages no filter: there is nobody else to apply them, so the catalogue is full.
    .values({
      id: SERVICE_ID,
      organisation_id: id,
      name: 'this-host',
      managed_filters: '[]',
      owner: 'portal',
    })
    .execute();
  const holding = {
    organisation_id: id,
    service_id: SERVICE_ID,
    asn: null,
    owner: 'portal',
  } as const;
  await tx
    .insertInto('holdings')
    .values(addresses.map((cidr) => ({ ...holding, cidr, during: '[now,)' })))
    .execute();
  return id;
}

/** The edge observes unless `up` is started with --enforce. Its name is the one that `up` looks for. */
async function createEdge(tx: Tx, devices: readonly string[]): Promise<void> {
  await tx
    .insertInto('edges')
    .values({
      name: LOCAL_NAME,
      site: 'local',
      devices: [...devices],
      serves: ['0.0.0.0/0', '::/0'],
      sees: 'both',
      fragments: 'reassemble',
      management: JSON.stringify([{ protocol: 'tcp', port: 22 }]),
      owner: 'portal',
    })
    .execute();
}
