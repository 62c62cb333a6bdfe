import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sql } from 'kysely';
import { DatabaseClient } from '@portcullis/control/db/client.ts';
import { openDatabase } from '@portcullis/control/db/database.ts';
import { isUnavailable } from '@portcullis/control/db/failure.ts';
import { SUPERUSER } from '@portcullis/control/db/embedded/roles.ts';
import { ReplicatedPostgres } from '../stack/replicated-postgres.ts';

describe('a database of several hosts', () => {
  let postgres: ReplicatedPostgres;
  before(async () => {
    postgres = await ReplicatedPostgres.start();
  });
  after(() => postgres.stop());

  const url = (hosts: readonly string[], query = ''): string =>
    `postgresql://${SUPERUSER}@/postgres?host=${hosts.join(',')}${query}`;

  async function isStandby(connection: string): Promise<boolean> {
    const client = new DatabaseClient(connection);
    await client.connect();
    try {
      const { rows } = await client.query<{ is: boolean }>('select pg_is_in_recovery() as is');
      return rows[0]?.is === true;
    } finally {
      await client.end();
    }
  }

  it('is reached by a socket before the path and in the query', async () => {
    const [standby, primary] = postgres.sockets;
    assert.equal(await isStandby(url([standby])), true);
    assert.equal(await isStandby(url([primary])), false);
    const encoded = encodeURIComponent(standby);
    assert.equal(await isStandby(`postgresql://${SUPERUSER}@${encoded}/postgres`), true);
  });

  it('is the one that accepts writes, past one that is not there and a standby', async () => {
    const [standby, primary] = postgres.sockets;
    // Nothing listens on the first port.
    const hosts = ['127.0.0.1', standby, primary];
    const ports = '&port=1,5432,5432';
    assert.equal(await isStandby(url(hosts, ports)), false);
    assert.equal(await isStandby(url(hosts, `${ports}&target_session_attrs=primary`)), false);
    assert.equal(await isStandby(url(hosts, `${ports}&target_session_attrs=any`)), true);
  });

  it('is unavailable while no host accepts writes, and says why of each', async () => {
    const [standby] = postgres.sockets;
    const client = new DatabaseClient(url(['127.0.0.1', standby], '&port=1,5432'));
    await assert.rejects(client.connect(), (error: Error) => {
      assert.match(error.message, /ECONNREFUSED 127\.0\.0\.1:1; a standby$/);
      return isUnavailable(error);
    });
  });

  it('is followed to the standby that took over, by the pool that was open', async () => {
    const db = openDatabase({ url: url(postgres.sockets), onIdleError: () => {} });
    try {
      const write = () => sql`create table if not exists written (id int)`.execute(db);
      await write();
      await postgres.failOver();
      // Connections to the old primary break at their next statement.
      await write().catch(() => {});
      await write();
    } finally {
      await db.destroy();
    }
  });
});
