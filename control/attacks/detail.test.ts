import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused } from '../http/testing/client.ts';
import { startWorld } from '../http/testing/fixture.ts';
import { respondToHeard } from './mitigations/respond.ts';
import { recordOngoing, standingKinds } from './mitigations/testing.ts';

const X1 = '/api/x1/attacks';

interface Detail {
  readonly data: {
    readonly attack: { readonly id: number; readonly destination_ip: string };
    readonly mitigations: readonly {
      readonly action: string;
      readonly mode: string;
      readonly until: string | null;
      readonly ended_because: string | null;
    }[];
    readonly cancelled_at: string | null;
  };
}

test('whoever sees an attack reads what is done against it in words, and may withdraw it', async (t) => {
  const { acme, db } = await startWorld(t);
  const heard = await recordOngoing(db, '203.0.113.10', 'dns_amplification');
  await respondToHeard(db, heard);
  const path = `${X1}/${heard.attackId}`;
  const read = (await acme.get(path)).body as Detail;
  assert.deepEqual(
    [read.data.attack.id, read.data.attack.destination_ip],
    [heard.attackId, '203.0.113.10'],
  );
  assert.deepEqual(
    read.data.mitigations.map(({ action, mode, until }) => [action, mode, until]),
    [
      ['UDP from port 53 (dns) is dropped', 'enforce', null],
      ['parts of UDP datagrams after the first are dropped', 'enforce', null],
    ],
  );
  const cancelled = await acme.delete(`${path}/mitigations`, undefined);
  assert.equal(cancelled.status, 200, cancelled.text);
  assert.deepEqual(await standingKinds(db, heard.attackId), []);
  const after = (await acme.get(path)).body as Detail;
  assert.ok(after.data.cancelled_at !== null);
  assert.deepEqual(
    after.data.mitigations.map(({ ended_because: why }) => why),
    ['cancelled', 'cancelled'],
  );
});

test('an attack on somebody else, one that there is not, and what is no id are alike: 404', async (t) => {
  const { acme, db } = await startWorld(t);
  const strange = await recordOngoing(db, '198.18.0.1', 'icmp_flood');
  for (const id of [strange.attackId, 4711, 0, '-1', 'x', '1e3', '99999999999999999999']) {
    assertRefused(await acme.get(`${X1}/${id}`), 404, 'not_found');
    assertRefused(await acme.delete(`${X1}/${id}/mitigations`, undefined), 404, 'not_found');
  }
});
