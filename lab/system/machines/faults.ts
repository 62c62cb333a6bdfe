import { before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Machines } from '../../stack/machines.ts';
import { denyInTurn, inTurn, survives } from './survival.ts';

const OTHER = '203.0.113.250';

let machines: Machines;

/** While any of these happens, what was acknowledged is kept, and is in the kernels of all edges soon after. */
export function faultTests(started: () => Machines): void {
  describe('under 200 writes a second', () => {
    before(async () => {
      machines = started();
      await machines.startReplica();
    });
    centralFaults();
    edgeFaults();
  });
}

function centralFaults(): void {
  it('a replica of control is killed', async (t) => {
    try {
      await survives(t, machines, () => machines.end('replica', 'SIGKILL'));
    } finally {
      await machines.end('replica', 'SIGKILL');
      await machines.startReplica();
    }
  });

  it('PostgreSQL is killed, and started again by control', async (t) => {
    await survives(t, machines, async () => machines.killPostgres());
  });

  it('NATS is killed, and started again', async (t) => {
    await survives(t, machines, async () => {
      await machines.end('nats', 'SIGKILL');
      await delay(1_000);
      await machines.startNats();
    });
  });

  it('all edges are cut off, and come back', async (t) => {
    await survives(t, machines, async () => {
      for (const { name } of machines.edges) machines.setWire(name, 'down');
      await delay(2_000);
      for (const { name } of machines.edges) machines.setWire(name, 'up');
    });
  });

  it('a replica of control and an edge are replaced, one after the other', async (t) => {
    await survives(t, machines, async () => {
      const startMs = performance.now();
      await machines.end('replica', 'SIGTERM');
      await machines.startReplica();
      const replicaMs = performance.now();
      await machines.end('ams1', 'SIGTERM');
      machines.startEdge('ams1');
      await machines.logged('ams1', 'joined control');
      const took = [replicaMs - startMs, performance.now() - replicaMs].map(Math.round);
      t.diagnostic(`replica and edge, each until it is back: ${took.join(' ms and ')} ms`);
    });
  });
}

function edgeFaults(): void {
  it('an edge is away for longer than its lease, and comes back with old state', async (t) => {
    await survives(t, machines, async () => {
      machines.setWire('ams1', 'down');
      try {
        await machines.endLease('ams1');
        const { generation } = await denyInTurn(machines.api, OTHER);
        await inTurn(() => machines.api.liveAt(OTHER, generation));
      } finally {
        // The tests after this one need the edge.
        machines.setWire('ams1', 'up');
      }
    });
  });

  it('the disk of an edge is full for a while', async (t) => {
    await survives(t, machines, async () => {
      machines.setDisk('ams1', 'full');
      await delay(2_000);
      machines.setDisk('ams1', 'free');
    });
  });

  for (const clock of ['+3600s', '-3600s']) {
    it(`the clock of an edge is wrong by ${clock}`, async (t) => {
      try {
        await survives(t, machines, async () => {
          await machines.end('ams1', 'SIGTERM');
          machines.startEdge('ams1', clock);
          await machines.logged('ams1', 'joined control');
        });
      } finally {
        await machines.end('ams1', 'SIGTERM');
        machines.startEdge('ams1');
        await machines.logged('ams1', 'joined control');
      }
    });
  }

  it('an edge stops for a while, and continues', async (t) => {
    await survives(t, machines, async () => {
      machines.signal('ams1', 'SIGSTOP');
      await delay(2_000);
      machines.signal('ams1', 'SIGCONT');
    });
  });
}
