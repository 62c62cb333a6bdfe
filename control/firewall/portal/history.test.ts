import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, dataOf } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const IP = '203.0.113.10';
const BASE = `/api/portal/organisations/acme/firewall/ips/${IP}`;
const RULES = BASE.replace('acme', 'acme/x1') + '/rules';
const V1 = `/api/v1/firewall/ips/${IP}`;

interface Changed {
  readonly generation: number;
  readonly created: { readonly rules: readonly number[] };
  readonly deleted: { readonly rules: readonly number[] };
}
interface Entry {
  readonly generation: number;
  readonly actor_kind: string;
  readonly actor: string;
  readonly action: string;
  readonly objects: readonly { readonly change: string; readonly name: string }[];
}
interface Note {
  readonly rule: number;
  readonly note: string | null;
  readonly tags: readonly string[];
}

const PASTED = [
  { action: 'allow', protocol: 'tcp', destination_port: '80,443', note: 'web', tags: ['prod'] },
  { action: 'deny', protocol: 'any', source_ip: '198.51.100.0/24' },
];

test('creates several rules with notes at once, or none', async (t) => {
  const { session } = await startEnvironment(t);
  const member = session('member');
  const made = dataOf<Changed>(await member.post(RULES, { rules: PASTED }));
  assert.equal(made.created.rules.length, 3);
  const notes = dataOf<Note[]>(await member.get(`${BASE}/notes`));
  assert.deepEqual(
    notes.map(({ note, tags }) => [note, tags]),
    [
      ['web', ['prod']],
      ['web', ['prod']],
    ],
  );
  const twice = { rules: [{ action: 'deny', protocol: 'gre' }, PASTED[0]] };
  assertRefused(await member.post(RULES, twice), 422, 'rule_exists');
  const path = `${BASE.replace(`ips/${IP}`, 'rules')}/${made.created.rules[2]}/note`;
  dataOf(await member.put(path, { note: ' spam\r\n', tags: ['abuse', 'abuse'] }));
  const saved = dataOf<Note[]>(await member.get(`${BASE}/notes`));
  assert.deepEqual(saved[2], { rule: made.created.rules[2], note: 'spam', tags: ['abuse'] });
  assertRefused(
    await session('read-only').put(path, { note: null, tags: [] }),
    403,
    'role_missing',
  );
});

test('finds addresses by the notes and tags of their rules, page by page, and only own ones', async (t) => {
  const { session } = await startEnvironment(t);
  const member = session('member');
  const others = ['203.0.113.11', '203.0.113.12'];
  for (const ip of [IP, ...others]) {
    const rules = ip === IP ? PASTED : [{ ...PASTED[0], note: null, tags: ['lobby', 'prod'] }];
    await member.post(RULES.replace(IP, ip), { rules });
  }
  const path = BASE.replace(`ips/${IP}`, 'notes');
  const first = await session('read-only').get(`${path}?per_page=1`);
  assert.deepEqual(dataOf(first), [{ ip: IP, rules: 2, tags: ['prod'] }]);
  const { next } = (first.body as { links: { next: string } }).links;
  const rest = dataOf<{ ip: string; tags: string[] }[]>(await member.get(`${path}?after=${IP}`));
  assert.deepEqual(
    rest.map(({ ip, tags }) => [ip, tags]),
    others.map((ip) => [ip, ['lobby', 'prod']]),
  );
  assert.deepEqual(dataOf<unknown[]>(await member.get(`${path}${next}`)), [rest[0]]);
  const found = dataOf<{ ip: string }[]>(await member.get(`${path}?search=WE`));
  assert.deepEqual(
    found.map(({ ip }) => ip),
    [IP],
  );
  assert.deepEqual(dataOf(await member.get(`${path}?search=%25`)), []);
  const elsewhere = path.replace('acme', 'other');
  assertRefused(await member.get(elsewhere), 404, 'not_found');
});

test('undoes a delete with its notes, and nothing that was changed since', async (t) => {
  const { session, acme } = await startEnvironment(t);
  const member = session('member');
  const made = dataOf<Changed>(await member.post(RULES, { rules: PASTED }));
  const gone = await acme.delete(`${V1}/rules`, { ids: made.created.rules });
  const generation = Number(gone.headers.get('portcullis-generation'));
  await acme.post(`${V1}/rules`, { action: 'allow', protocol: 'tcp', destination_port: '80,22' });
  const undone = dataOf<Changed>(await member.post(`${BASE}/undo`, { generation }));
  assert.equal(undone.created.rules.length, 2, 'port 80 was created again by hand');
  const notes = dataOf<Note[]>(await member.get(`${BASE}/notes`));
  assert.deepEqual(
    notes.map(({ note }) => note),
    ['web'],
  );
  const again = dataOf<Changed>(await member.post(`${BASE}/undo`, { generation }));
  assert.deepEqual(again.created.rules, []);
});

test('goes back to an earlier state, and shows who changed what', async (t) => {
  const { session, acme } = await startEnvironment(t);
  const member = session('member');
  const first = await member.post(RULES, { rules: PASTED });
  const generation = Number(first.headers.get('portcullis-generation'));
  await acme.post(`${V1}/filters`, { type: 'udp-stateful', port: '27015' });
  await acme.put(`/api/x1/firewall/ips/${IP}`, { rules: [], filters: [] });
  const group = { name: 'web', rules: [PASTED[1]], filters: [], targets: [`${IP}/31`] };
  dataOf(await session('admin').post('/api/portal/organisations/acme/groups', group));
  const conflict = await member.post(`${BASE}/restore`, { generation });
  assertRefused(conflict, 422, 'rule_exists');
  const groups = dataOf<{ id: number }[]>(
    await member.get('/api/portal/organisations/acme/groups'),
  );
  await session('admin').send('DELETE', `/api/portal/organisations/acme/groups/${groups[0]?.id}`);
  const back = dataOf<Changed>(await member.post(`${BASE}/restore`, { generation }));
  assert.equal(back.created.rules.length, 3);
  const history = await member.get(`${BASE}/history?per_page=3`);
  const newest = dataOf<Entry[]>(history);
  const { next } = (history.body as { links: { next: string } }).links;
  const older = dataOf<Entry[]>(await member.get(`${BASE}/history${next}`));
  const reported = [...newest, ...older].map(({ actor_kind: kind, action, objects }) => {
    return `${kind} ${action}: ${objects.map((one) => `${one.change} ${one.name}`).join('; ')}`;
  });
  assert.deepEqual(reported, [
    'user address.restore: added allow tcp 80; added allow tcp 443; added deny any from 198.51.100.0/24',
    'user group.delete: removed web on 203.0.113.10/31; removed deny any from 198.51.100.0/24',
    'user group.create: added web on 203.0.113.10/31; added deny any from 198.51.100.0/24',
    'key address.replace: removed udp-stateful:27015; removed allow tcp 80; removed allow tcp 443; removed deny any from 198.51.100.0/24',
    'key filter.create: added udp-stateful:27015',
    'user rule.create: added allow tcp 80; added allow tcp 443; added deny any from 198.51.100.0/24',
  ]);
  assert.equal(newest[0]?.actor, 'member@acme.example');
  assertRefused(
    await member.post(`${BASE}/restore`, { generation: 10_000 }),
    422,
    'invalid_request',
  );
  const foreign = BASE.replace(IP, '192.0.2.1');
  assertRefused(await member.get(`${foreign}/history`), 404, 'not_found');
});
