import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import type { Db } from '../../../db/database.ts';
import { testDatabase } from '../../../db/testing.ts';
import { applyFleet, planFleet } from '../apply/apply.ts';
import type { FleetFile } from '../desired.ts';
import { model, write } from '../testing/drawn-fleet.ts';
import { checkFleet } from '../parse/parse.ts';
import { SHIPPED_EGGS } from '../read/egg-files.ts';
import { readChecked } from '../read/read.ts';
import { applyText, insertOwnRule, mistakesOf, TEST_ACTOR } from '../testing.ts';
import { exportFleet } from './export.ts';

const WHERE = { path: '/nowhere/fleet.yaml', eggs: SHIPPED_EGGS };
const EXAMPLE = await readFile(new URL('../../../../examples/fleet.yaml', import.meta.url), 'utf8');
const WHOLE = await readFile(new URL('golden/whole.yaml', import.meta.url), 'utf8');
const ENVIRONMENT = { RESPONDER_HOOK_SECRET: 'hush' };

async function parse(text: string): Promise<FleetFile> {
  const checked = checkFleet(text, WHERE.path, ENVIRONMENT);
  const read = checked.ok ? await readChecked(checked, WHERE.path, SHIPPED_EGGS) : checked;
  if (!read.ok) throw new Error(mistakesOf(read).join('\n'));
  return read.value;
}

async function apply(db: Db, text: string): Promise<void> {
  const options = { allowLosses: false, adopt: true, actor: TEST_ACTOR };
  await applyFleet(db, await parse(text), options);
}

/** The text without its comments. */
function contentOf(text: string): string {
  return text.replaceAll(/^#.*\n\n?/gm, '');
}

const OWNED = [
  'organisations',
  'asns',
  'holdings',
  'services',
  'api_keys',
  'groups',
  'baseline_rules',
  'edges',
  'collectors',
  'responders',
  'library_eggs',
  'nodes',
  'game_servers',
];

async function makeByHand(db: Db): Promise<void> {
  for (const table of [...OWNED, 'default_actions']) {
    await sql`update ${sql.table(table)} set owner = 'portal'`.execute(db);
  }
}

test('an export of any drawn fleet has nothing to change, of the file or made by hand', async (t) => {
  const { db } = await testDatabase(t);
  const property = fc.asyncProperty(model, fc.boolean(), async (wanted, isByHand) => {
    await applyText(db, write(wanted));
    if (wanted.prefixes[0] !== null && wanted.service?.carved !== true) {
      await insertOwnRule(db, '203.0.113.77', { port: 80 }).catch(() => {});
    }
    if (isByHand) await makeByHand(db);
    const { text, differences, left, variables } = await exportFleet(db, WHERE);
    assert.deepEqual([differences, left, variables], [[], [], []]);
    const plan = await planFleet(db, await parse(text), { adopt: true });
    assert.deepEqual([plan.changes, plan.mistakes, plan.losses], [[], [], []]);
    await apply(db, text);
    assert.equal(contentOf((await exportFleet(db, WHERE)).text), contentOf(text));
  });
  await fc.assert(property, { numRuns: 15 });
});

test('an organisation has any name that a file may give it', async (t) => {
  const { db } = await testDatabase(t);
  const text = 'organisations:\n  constructor: { name: Builders }\n';
  await apply(db, text);
  const exported = await exportFleet(db, WHERE);
  assert.deepEqual([exported.differences, exported.left], [[], []]);
  assert.ok(exported.text.endsWith(text), exported.text);
});

for (const [name, text] of [
  ['the example', EXAMPLE],
  ['every kind', WHOLE],
] as const) {
  test(`an export loses nothing, and makes the same elsewhere: ${name}`, async (t) => {
    const [{ db }, { db: other }] = [await testDatabase(t), await testDatabase(t)];
    await apply(db, text);
    const first = await exportFleet(db, WHERE);
    assert.deepEqual([first.differences, first.left], [[], []]);
    await apply(other, first.text);
    assert.equal((await exportFleet(other, WHERE)).text, first.text);
    await makeByHand(db);
    const byHand = await exportFleet(db, WHERE);
    assert.deepEqual([byHand.differences, contentOf(byHand.text)], [[], contentOf(first.text)]);
  });
}

test('the golden file has every kind', async () => {
  const { objects } = await parse(WHOLE);
  for (const [kind, declared] of Object.entries(objects)) assert.ok(declared.length > 0, kind);
});

test('golden: what was exported is written as people write it', async (t) => {
  const { db } = await testDatabase(t);
  await apply(db, WHOLE);
  const { text } = await exportFleet(db, WHERE);
  assert.equal(text, WHOLE);
});
