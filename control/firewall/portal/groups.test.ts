import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyText } from '../../operator/fleet-file/testing.ts';
import { assertRefused, dataOf } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const BASE = '/api/portal/organisations/acme';
const IP = '203.0.113.10';
const RULE = { action: 'deny', protocol: 'udp', destination_port: '19,123' };
const WEB = { name: 'web', rules: [RULE], filters: [], targets: [IP] };

interface Preview {
  readonly targets: readonly { readonly target: string; readonly change: string }[];
  readonly conflicts: readonly { readonly target: string; readonly code: string }[];
}

test('creates, changes and deletes a group, each as one change that addresses show', async (t) => {
  const { session, acme } = await startEnvironment(t);
  const admin = session('admin');
  const made = await admin.post(`${BASE}/groups`, WEB);
  assert.equal(made.status, 201, made.text);
  const { id, generation } = dataOf<{ id: number; generation: number }>(made);
  const shown = dataOf<{ rules: { managed_by_group: { name: string } }[] }>(
    await acme.get(`/api/v1/firewall/ips/${IP}`),
  );
  assert.deepEqual(
    shown.rules.map((rule) => rule.managed_by_group.name),
    ['web', 'web'],
  );
  const [before] = dataOf<{ rules: { id: number }[] }[]>(await admin.get(`${BASE}/groups`));
  const narrower = { ...RULE, destination_port: '19', source_ip: '198.51.100.0/24' };
  const wanted = { ...WEB, name: 'www', rules: [RULE, narrower], targets: [IP, '203.0.113.64/26'] };
  const saved = await admin.put(`${BASE}/groups/${id}`, wanted);
  assert.equal(dataOf<{ generation: number }>(saved).generation, generation + 1, saved.text);
  const again = await admin.put(`${BASE}/groups/${id}`, wanted);
  assert.match(again.text, /so already/);
  const [after] = dataOf<{ name: string; rules: { id: number }[]; targets: string[] }[]>(
    await admin.get(`${BASE}/groups`),
  );
  assert.deepEqual([after?.name, after?.targets], ['www', [IP, '203.0.113.64/26']]);
  const ids = after?.rules.map((rule) => rule.id) ?? [];
  assert.ok(before?.rules.every((rule) => ids.includes(rule.id)) === true && ids.length === 3);
  await admin.send('DELETE', `${BASE}/groups/${id}`);
  assert.deepEqual(dataOf(await admin.get(`${BASE}/groups`)), []);
  assertRefused(await admin.send('DELETE', `${BASE}/groups/${id}`), 404, 'not_found');
});

test('previews what a group changes where, names conflicts, and leaves nothing', async (t) => {
  const { session, acme } = await startEnvironment(t);
  const admin = session('admin');
  await acme.post(`/api/v1/firewall/ips/${IP}/rules`, RULE);
  const wanted = { ...WEB, targets: [IP, '203.0.113.0/28'] };
  const preview = dataOf<Preview>(await admin.post(`${BASE}/groups/preview`, wanted));
  assert.deepEqual(
    preview.targets.map(({ target, change }) => `${target} ${change}`),
    [`${IP} assigned`, '203.0.113.0/28 assigned'],
  );
  assert.ok(preview.conflicts.some(({ target, code }) => target === IP && code === 'rule_exists'));
  assertRefused(await admin.post(`${BASE}/groups`, wanted), 422, 'rule_exists');
  assert.deepEqual(dataOf(await admin.get(`${BASE}/groups`)), []);
  const foreign = { ...WEB, targets: ['192.0.2.1'] };
  assertRefused(await admin.post(`${BASE}/groups/preview`, foreign), 404, 'not_found');
});

test('sets geo rules by country and ASN, and moves them', async (t) => {
  const { session } = await startEnvironment(t);
  const admin = session('admin');
  const wanted = { action: 'deny', countries: ['RU', 'CN'], asns: [64496], targets: [IP] };
  const made = await admin.post(`${BASE}/geo-rules`, wanted);
  const { id } = dataOf<{ id: number }>(made);
  const moved = await admin.put(`${BASE}/geo-rules/${id}`, {
    ...wanted,
    targets: ['203.0.113.0/25'],
  });
  assert.equal(dataOf<{ id: number }>(moved).id, id, moved.text);
  const changed = await admin.put(`${BASE}/geo-rules/${id}`, { ...wanted, action: 'only' });
  assert.notEqual(dataOf<{ id: number }>(changed).id, id);
  const [rule, ...others] = dataOf<Record<string, unknown>[]>(await admin.get(`${BASE}/geo-rules`));
  const { action, countries, targets } = rule ?? {};
  assert.deepEqual([others, action, countries, targets], [[], 'only', ['CN', 'RU'], [IP]]);
  const wrong = await admin.post(`${BASE}/geo-rules`, { ...wanted, countries: ['UK'] });
  assertRefused(wrong, 422, 'invalid_request');
});

test('shows what the fleet file owns, and refuses to change it', async (t) => {
  const { session, db } = await startEnvironment(t);
  await applyText(
    db,
    `organisations:
  acme:
    name: Acme
    asns: [64500]
    prefixes: [{ cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00+00:00" }]
    groups: [{ name: baseline, rules: [{ action: deny, protocol: udp, destination_port: "19" }], addresses: [${IP}] }]
  other: { name: Other }`,
  );
  const admin = session('admin');
  const [group] = dataOf<{ id: number; owner: string }[]>(await admin.get(`${BASE}/groups`));
  assert.equal(group?.owner, 'fleet');
  const path = `${BASE}/groups/${group?.id}`;
  assertRefused(await admin.put(path, WEB), 422, 'managed_by_fleet_file');
  assertRefused(await admin.send('DELETE', path), 422, 'managed_by_fleet_file');
});
