import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NatsAgent } from '@portcullis/link/nats/agent.ts';
import { openConnection, requireAuthentication } from '@portcullis/link/nats/connection.ts';
import { NatsControl } from '@portcullis/link/nats/control.ts';
import { transportSuite } from '@portcullis/link/testing/transport-suite.ts';
import { skipUnless } from '../requirements.ts';
import { NatsServer } from '../stack/nats-server.ts';

describe('NATS', { skip: skipUnless(['nats-server']) }, () => {
  transportSuite('NATS', async () => {
    const server = await new NatsServer().start();
    return {
      serve: async (handler, admit) => {
        const connection = await openConnection(server.control, { name: 'control' });
        return new NatsControl(connection, { handler, ...(admit && { admit }) });
      },
      connect: (agent, credential) =>
        new NatsAgent({ agent, ...(credential && { credential }) }, server.agent(agent)),
      end: () => server.stop(),
    };
  });

  it('refuses a server that admits everybody', async (t) => {
    const server = await new NatsServer('listen: "127.0.0.1:-1"\n').start();
    t.after(() => server.stop());
    await assert.rejects(requireAuthentication(server.control), /admits everybody/);
  });
});
