import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { AttackJournal, type SavedAttack } from './journal.ts';
import { wireAttack } from './testing/attacks.ts';

function journalIn(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-journal-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const files = (): string[] => readdirSync(join(folder, 'attacks'));
  return { folder, files, open: () => new AttackJournal(folder, log) };
}
const kept = (subject: string, seenAtMs = 5): SavedAttack => ({
  attack: wireAttack(subject),
  seenAtMs,
  told: 'nothing',
});
const byId = (attacks: readonly SavedAttack[]): string[] =>
  attacks.map(({ attack }) => attack.id).toSorted();

test('a restart loads the last saved state and nothing that was deleted', async (t) => {
  const { files, open } = journalIn(t);
  const journal = open();
  const subjects = ['203.0.113.10', '203.0.113.0/24', '2001:db8::1'];
  journal.save(subjects.map((subject) => kept(subject)));
  journal.save([kept('203.0.113.10', 9)]);
  journal.forget([kept('2001:db8::1').attack.id]);
  await journal.settled();
  const again = open().load();
  assert.deepEqual(byId(again), byId([kept('203.0.113.10'), kept('203.0.113.0/24')]));
  assert.deepEqual(
    again.find(({ attack }) => attack.subject === '203.0.113.10'),
    kept('203.0.113.10', 9),
  );
  assert.equal(files().length, 2);
});

test('a damaged file loses one attack and is deleted', async (t) => {
  const { folder, files, open } = journalIn(t);
  const journal = open();
  journal.save([kept('203.0.113.10'), kept('203.0.113.11'), kept('203.0.113.12')]);
  await journal.settled();
  const [first = '', second = ''] = files().map((name) => join(folder, 'attacks', name));
  writeFileSync(first, readFileSync(first).subarray(0, 40));
  writeFileSync(second, readFileSync(second, 'utf8').replace('udp_flood', 'toString'));
  // A foreign file and one of an interrupted write: neither is read or changed.
  writeFileSync(join(folder, 'attacks', 'notes.txt'), 'mine');
  writeFileSync(`${first}.new`, '{');
  const damaged = open();
  assert.equal(damaged.load().length, 1);
  damaged.save([]);
  await damaged.settled();
  assert.equal(open().load().length, 1);
  assert.equal(files().filter((name) => name.endsWith('.json')).length, 1);
});

test('a full disk is reported and stops nothing', async (t) => {
  const { folder, open } = journalIn(t);
  writeFileSync(join(folder, 'attacks'), 'in the way');
  const journal = open();
  assert.deepEqual(journal.load(), []);
  journal.save([kept('203.0.113.10')]);
  await journal.settled();
  assert.match(journal.problem ?? '', /EEXIST|ENOTDIR/);
  rmSync(join(folder, 'attacks'));
  journal.save([kept('203.0.113.10')]);
  await journal.settled();
  assert.equal(journal.problem, null);
});
