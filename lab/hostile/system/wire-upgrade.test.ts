import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createLogger } from '@portcullis/control/log.ts';
import { testDatabase } from '@portcullis/control/db/testing.ts';
import {
  ensureInstallation,
  type NatsInstallation,
} from '@portcullis/control/nats/installation.ts';
import { NatsLink } from '@portcullis/control/nats/link.ts';
import { NatsAgent } from '@portcullis/link/nats/agent.ts';
import { accountClaims, operatorClaims } from '@portcullis/link/nats/claims.ts';
import { openConnection } from '@portcullis/link/nats/connection.ts';
import type { NatsKey } from '@portcullis/link/nats/keys.ts';
import { renderServerConfig } from '@portcullis/link/nats/server-config.ts';
import {
  confirm,
  DONE,
  EDGE,
  eventually,
  nextConnect,
  TIMEOUT_MS,
} from '@portcullis/link/testing/meeting.ts';
import type { Usage } from '@portcullis/link/transport/relay.ts';
import { skipUnless } from '../../requirements.ts';
import { changedClaims, NatsServer } from '../../stack/nats-server.ts';

/** The limits as version 0.1 signed every account. */
const LIMITS_BEFORE = {
  subs: -1,
  data: -1,
  payload: -1,
  imports: -1,
  exports: -1,
  wildcards: true,
  conn: -1,
  leaf: -1,
};

describe('NATS servers and credentials of version 0.1', {
  skip: skipUnless(['nats-server', 'postgres']),
}, () => {
  it('serve replicas and agents of this version without a change, also after a restart', async (t) => {
    const { db } = await testDatabase(t);
    const installation = await ensureInstallation(db);
    const config = configBefore(installation);
    const server = await new NatsServer({ identity: installation, config }).start();
    t.after(() => server.stop());
    const heard: Usage[] = [];
    const [first, second] = [link(t, db, server), link(t, db, server)];
    second.onUsage((usage) => heard.push(usage));
    const agent = new NatsAgent({ agent: EDGE }, server.agentBefore(EDGE));
    t.after(() => agent.close());
    await nextConnect(agent);
    assert.deepEqual(await agent.request(confirm(1), TIMEOUT_MS), DONE);
    const reported = async (requests: number): Promise<void> =>
      eventually(async () => {
        first.publishUsage({ key: { requests, limit: 10 } });
        assert.ok(heard.some(({ key }) => key?.requests === requests));
      });
    await reported(1);

    // What an agent of version 0.1 subscribes to, a credential of this version allows.
    const old = await openConnection(server.agent(EDGE), { name: 'agent' });
    t.after(() => old.close());
    const closed = old.subscribe('portcullis.control.closed');
    await old.flush();
    assert.equal(closed.isClosed(), false);

    const back = nextConnect(agent, 2);
    await server.kill();
    await server.start();
    await back;
    assert.deepEqual(await agent.request(confirm(2), TIMEOUT_MS), DONE);
    await reported(2);
  });
});

function link(
  t: TestContext,
  db: Awaited<ReturnType<typeof testDatabase>>['db'],
  server: NatsServer,
) {
  const nats = new NatsLink({
    db,
    servers: [server.url],
    connectTo: [server.url],
    log: createLogger({ level: 'silent' }),
    handler: async () => DONE,
    onError: (error) => assert.fail(String(error)),
  });
  t.after(() => nats.close());
  return nats;
}

function configBefore({ operator, system, account }: NatsInstallation): string {
  const signed = (name: 'system' | 'fleet', key: NatsKey): string =>
    changedClaims(
      operator,
      accountClaims(operator, { name, publicName: key.publicName }),
      (nats) => ({ ...nats, limits: LIMITS_BEFORE }),
    );
  return renderServerConfig({
    folder: '.',
    listen: '127.0.0.1:-1',
    operator: operatorClaims(operator, system.publicName),
    accounts: {
      [system.publicName]: signed('system', system),
      [account.publicName]: signed('fleet', account),
    },
    tls: null,
    cluster: null,
  });
}
