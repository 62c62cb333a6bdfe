import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, dataOf } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

test('removes agents of the portal that nothing needs', async (t) => {
  const { session, db } = await startEnvironment(t);
  const operator = session('operator');
  const edge = (name: string, owner: 'fleet' | 'portal', isInService: boolean) => ({
    name,
    owner,
    site: 'fra',
    devices: ['eth0'],
    serves: ['0.0.0.0/0'],
    sees: 'both' as const,
    fragments: 'reassemble' as const,
    management: '[]',
    in_service: isInService,
  });
  await db
    .insertInto('edges')
    .values([
      edge('fra1', 'fleet', false),
      edge('fra2', 'portal', true),
      edge('fra3', 'portal', false),
    ])
    .execute();
  await db.insertInto('nodes').values({ name: 'node-1', owner: 'portal' }).execute();
  const remove = (path: string) => operator.send('DELETE', `/api/portal/operator/${path}`);
  assertRefused(await remove('edges/fra1'), 422, 'managed_by_fleet_file');
  assertRefused(await remove('edges/fra2'), 422, 'conflict');
  assertRefused(await remove('edges/none'), 404, 'not_found');
  dataOf(await remove('edges/fra3'));
  dataOf(await remove('nodes/node-1'));
  const fleet = dataOf<{ edges: { name: string; devices: string[] }[]; nodes: unknown[] }>(
    await operator.get('/api/portal/operator/fleet'),
  );
  assert.deepEqual(
    fleet.edges.map(({ name, devices }) => [name, devices]),
    [
      ['fra1', ['eth0']],
      ['fra2', ['eth0']],
    ],
  );
  assert.deepEqual(fleet.nodes, []);
});
