import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { generateSecret } from '../../../access/index.ts';
import { testDatabase } from '../../../db/testing.ts';
import { applyText, mustParse, TEST_ACTOR } from '../testing.ts';
import { loadPreviousFile } from './applied-files.ts';
import { applyFleet, FleetRefused, planFleet } from './apply.ts';

const SECRET = generateSecret();
const KEYS = `    keys: [{ name: ci, abilities: [firewall.read], secret: ${SECRET} }]`;
const fleet = (rest: string): string => `edges: [{ name: fra1, devices: [eth0] }]
organisations:
  acme:
    name: Acme
    flags: [firewall_api]
${rest}`;

test('an undo brings back what the last apply ended, with the secret of its key', async (t) => {
  const { db } = await testDatabase(t);
  assert.equal(await loadPreviousFile(db), null);
  await applyText(db, fleet(KEYS));
  assert.equal(await loadPreviousFile(db), null);
  await assert.rejects(applyText(db, 'nodes: [{ name: n1 }]', false), FleetRefused);
  await applyText(db, 'nodes: [{ name: n1 }]');
  const previous = await loadPreviousFile(db);
  assert.ok(previous !== null);
  assert.ok(!JSON.stringify(previous.file).includes(SECRET));
  await applyFleet(db, previous.file, { allowLosses: true, actor: TEST_ACTOR });
  assert.deepEqual((await planFleet(db, mustParse(fleet(KEYS)))).changes, []);
  const { rows } = await sql`
    select k.suspended_at, o.flags from api_keys k join organisations o on o.id = k.organisation_id
  `.execute(db);
  assert.deepEqual(rows, [{ suspended_at: null, flags: ['firewall_api'] }]);
});

test('hands objects that were made by hand to the file that names them, and no others', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, fleet(`${KEYS}\n    groups: [{ name: web }, { name: other }]`));
  for (const table of ['organisations', 'api_keys', 'groups', 'edges'])
    await sql`update ${sql.table(table)} set owner = 'portal'`.execute(db);
  const text = fleet(`${KEYS}\n    groups: [{ name: web }]`);
  const refused = await planFleet(db, mustParse(text));
  assert.match(refused.mistakes[0]?.message ?? '', /--adopt hands it to this one/);
  const adopted = await planFleet(db, mustParse(text), { adopt: true });
  assert.deepEqual([adopted.changes, adopted.mistakes], [[], []]);
  const options = { allowLosses: false, adopt: true, actor: TEST_ACTOR };
  await applyFleet(db, mustParse(text), options);
  const { rows } = await sql`select name, owner from groups order by name`.execute(db);
  assert.deepEqual(rows, [
    { name: 'other', owner: 'portal' },
    { name: 'web', owner: 'fleet' },
  ]);
  await applyFleet(db, mustParse(text), options);
  await applyText(db, fleet(`${KEYS}\n    groups: [{ name: web }, { name: later }]`));
  const previous = await loadPreviousFile(db);
  const groups = previous?.file.objects.group.map(({ object }) => object.name);
  assert.deepEqual(groups, ['web'], 'an undo does not go back to before the adoption');
});
