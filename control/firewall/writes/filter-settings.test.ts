import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FilterSettings } from '@portcullis/core/filters/settings.ts';
import { inSnapshot, loadPolicies } from '../../fleet/policies/policies.ts';
import { assertRefused, type TestReply } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const V1 = '/api/v1/firewall/ips/203.0.113.10';
const X1 = '/api/x1/firewall/ips/203.0.113.10';
const NONE = {
  source_pps: null,
  new_per_second: null,
  min_length: null,
  max_length: null,
  source_ports: null,
};

interface Read {
  readonly data: {
    readonly rules: readonly object[];
    readonly filters: readonly { readonly key: string; readonly settings: object }[];
  };
}
const settingsOf = (reply: TestReply) =>
  (reply.body as Read).data.filters.map(({ key, settings }) => [key, settings]);
const messageOf = (reply: TestReply) => (reply.body as { message: string }).message;

test('sets what a filter lets through, and keeps it over a replace and in history', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await acme.post(`${V1}/filters`, { type: 'source', port: '27015-27016' });
  const keys = ['source:27015'];
  const sent = { source_pps: 200, new_per_second: null, source_ports: ' 1024-60000, 60001-65535' };
  const set = await acme.put(`${X1}/filter-settings`, { keys, settings: sent });
  assert.equal(set.status, 200, JSON.stringify(set.body));
  assert.match(messageOf(set), /^The settings of 1 filter were accepted\. It is live when/);
  const wanted = { ...NONE, source_pps: 200, source_ports: '1024-65535' };
  const read = await acme.get(X1);
  assert.deepEqual(settingsOf(read), [
    ['source:27015', wanted],
    ['source:27016', NONE],
  ]);
  assert.deepEqual(Object.keys((await acme.get(V1)).body as object), ['data', 'meta']);
  assert.ok(!JSON.stringify((await acme.get(V1)).body).includes('settings'), 'v1 keeps its letter');
  assert.deepEqual(await policySettings(), [{ sourcePps: 200, sourcePorts: '1024-65535' }, null]);

  const again = await acme.put(`${X1}/filter-settings`, { keys, settings: sent });
  assert.match(messageOf(again), /^Nothing was changed/);
  const { rules } = (read.body as Read).data;
  const kept = { rules, filters: [{ type: 'source', port: 27015 }] };
  const replaced = await acme.put(X1, kept);
  assert.equal(replaced.status, 200, JSON.stringify(replaced.body));
  assert.deepEqual(settingsOf(await acme.get(X1)), [['source:27015', wanted]]);
  const other = { rules, filters: [{ ...kept.filters[0], settings: { max_length: 900 } }] };
  assert.doesNotMatch(messageOf(await acme.put(X1, other)), /reconnect/);
  assert.deepEqual(settingsOf(await acme.get(X1)), [
    ['source:27015', { ...NONE, max_length: 900 }],
  ]);

  async function policySettings(): Promise<(FilterSettings | null)[]> {
    const { policies } = await inSnapshot(db, (tx) => loadPolicies(tx, 'all'));
    const policy = policies.find(({ target }) => target === '203.0.113.10');
    return policy?.filters.map(({ settings = null }) => settings) ?? [];
  }
});

test('refuses settings that a filter cannot have, and filters that are not there', async (t) => {
  const { acme } = await startEnvironment(t);
  await acme.post(`${V1}/filters`, { type: 'tcp-syn-proxy', port: '443' });
  const refuse = async (key: string, settings: object, pointer: string) => {
    const reply = await acme.put(`${X1}/filter-settings`, { keys: [key], settings });
    assertRefused(reply, 422, 'invalid_request');
    const { errors } = reply.body as { errors: { pointer: string }[] };
    assert.deepEqual(
      errors.map((error) => error.pointer),
      [pointer],
    );
  };
  await refuse('tcp-syn-proxy:443', { max_length: 100 }, '/settings/max_length');
  await refuse('tcp-syn-proxy:443', { source_ports: '0' }, '/settings/source_ports');
  await refuse('tcp-syn-proxy:443', { source_pps: 0 }, '/settings/source_pps');
  await refuse('tcp-syn-proxy:80', {}, '/keys/0');
});
