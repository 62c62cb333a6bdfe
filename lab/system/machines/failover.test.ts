import { after, before, describe, it } from 'node:test';
import { skipUnless } from '../../requirements.ts';
import { Machines } from '../../stack/machines.ts';
import { ReplicatedPostgres } from '../../stack/replicated-postgres.ts';
import { survives } from './survival.ts';

describe('two replicas of control on a PostgreSQL with a standby', {
  skip: skipUnless(['root', 'netns', 'nft', 'postgres', 'nats-server']),
}, () => {
  let postgres: ReplicatedPostgres;
  let machines: Machines;
  before(async () => {
    postgres = await ReplicatedPostgres.start();
    machines = await Machines.start('failover', { edges: ['fra1'], databaseUrl: postgres.url });
    await machines.startReplica();
  });
  after(async () => {
    await machines?.stop();
    await postgres?.stop();
  });

  it('the primary is killed under 200 writes a second, and the standby takes over', async (t) => {
    await survives(t, machines, async () => {
      const startMs = performance.now();
      await postgres.failOver();
      t.diagnostic(`promoted after ${Math.round(performance.now() - startMs)} ms`);
    });
  });
});
