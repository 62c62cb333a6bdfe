import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { startEnvironment } from '../../testing/fixture.ts';
import { createRegistry } from '../../http/server/metrics.ts';
import { createLogger } from '../../log.ts';
import { list } from '../history/testing.ts';
import type { ReportedAttack } from './record/plan.ts';
import { boundRequest, floodSample, SUBJECT } from './watch/testing.ts';
import { createDetection } from './index.ts';

const FRA1 = { kind: 'edge', name: 'fra1' } as const;

test('sends an edge its watch settings, and shows a reported flood to the organisation while it is ongoing', async (t) => {
  const { db, acme } = await startEnvironment(t);
  await sql`
    insert into edges (name, site, devices, serves, sees, fragments, management, owner)
    values ('fra1', 'fra', '{eth0}', '{0.0.0.0/0,::/0}', 'both', 'reassemble', '[]', 'fleet')`.execute(
    db,
  );
  const log = createLogger({ level: 'silent' });
  const detection = createDetection({ db, log, registry: createRegistry() });
  const received: ReportedAttack[] = [];
  const versions: string[] = [];
  await detection.start({
    onAttack: (one) => void received.push(one),
    onScopes: (version) => void versions.push(version),
    relay: null,
  });
  t.after(() => detection.stop());
  const ask = {
    kind: 'detection.getSettings',
    instance: 'i',
    version: null,
    cursor: null,
  } as const;
  const settings = await detection.service.settings(FRA1, ask);
  assert.ok(settings.kind === 'watch.settings' && settings.next === null);
  assert.deepEqual(versions, [settings.version]);
  assert.ok(settings.scopes?.some(({ scope }) => scope === '203.0.113.0/24'));
  const again = await detection.service.settings(FRA1, { ...ask, version: settings.version });
  assert.ok(again.kind === 'watch.settings' && again.scopes === null);
  for (let sequence = 1; received.length === 0; sequence++) {
    assert.ok(sequence < 120, 'no attack was recorded');
    const atMs = Date.now();
    const samples = [floodSample(atMs, { [SUBJECT]: 60_000 })];
    const message = { kind: 'watch.samples', instance: 'i', sequence, atMs, samples } as const;
    const bound = await boundRequest(db, FRA1, message);
    assert.deepEqual(await detection.service.samples(FRA1, bound), { kind: 'done' });
    await delay(50);
  }
  const [attack] = (await list(acme, '?ongoing=true')).data;
  assert.deepEqual([attack?.id, attack?.destination_ip], [received[0]?.attackId, SUBJECT]);
  assert.equal(received[0]?.kind, 'opened');
});
