import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { adoptInstallation } from '@portcullis/cli/installation/adopt.ts';
import { skipUnless } from '../../requirements.ts';

/** A local user, whose installation root is asked to adopt. */
const EVE = 64_003;
const ACCOUNT = { name: 'database', uid: 64_004, gid: 64_004 };
const SECRET = 'root alone reads this';

suite('an installation that root adopts', { skip: skipUnless(['root']) }, () => {
  test('is read as its owner: a name of a file that its owner cannot read brings none of it', async (t) => {
    const { from, into, secret } = folders(t);
    for (const name of ['node/credential', 'postgres/pg_hba.conf']) {
      rmSync(join(from, name), { force: true });
      linkSync(secret, join(from, name));
      await assert.rejects(adoptInstallation(from, into, ACCOUNT));
      assertUntouched(secret, into);
      rmSync(join(from, name));
    }
  });

  for (const [part, what] of [
    ['node', 'folder'],
    ['node/servers', 'folder'],
    ['node/servers/hearth', 'folder'],
    ['node/servers/hearth/world', 'file'],
    ['node/credential', 'file'],
    ['collectors', 'folder'],
    ['postgres', 'folder'],
    ['postgres/base', 'folder'],
    ['first-key-unseen', 'file'],
  ] as const) {
    test(`changes and copies nothing that its ${part} links to`, async (t) => {
      const { from, into, outside, secret } = folders(t);
      const path = join(from, part);
      rmSync(path, { recursive: true, force: true });
      symlinkSync(what === 'folder' ? outside : secret, path);
      lchownSync(path, EVE, EVE);
      await adoptInstallation(from, into, ACCOUNT).catch(() => {});
      assertUntouched(secret, into);
      for (const inside of [outside, join(outside, 'servers'), join(outside, 'servers/other')])
        assert.equal(lstatSync(inside).uid, 0, inside);
    });
  }
});

/** An installation of Eve's, and a folder of root's with a secret, which looks like a node's. */
function folders(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-adoption-'));
  t.after(() => rmSync(folder, { recursive: true }));
  chmodSync(folder, 0o755);
  const [from, into, outside] = ['from', 'into', 'outside'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [from, into]) mkdirSync(path, { mode: 0o711 });
  for (const path of [
    'postgres/PG_VERSION',
    'postgres/base/1',
    'node/credential',
    'node/servers/hearth/world',
    'collectors/one',
    'first-key-unseen',
  ])
    write(join(from, path), 'of eve');
  chmodSync(join(from, 'postgres'), 0o700);
  for (const path of [outside, join(outside, 'servers/other')]) write(join(path, 'file'), SECRET);
  const secret = join(outside, 'secret');
  writeFileSync(secret, SECRET, { mode: 0o600 });
  return { from, into, outside, secret };

  function write(path: string, text: string): void {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    const isHers = path.startsWith(from);
    for (let at = path; isHers && at.startsWith(from); at = dirname(at)) lchownSync(at, EVE, EVE);
  }
}

function assertUntouched(secret: string, into: string): void {
  const { uid, gid, mode } = lstatSync(secret);
  assert.deepEqual([uid, gid, mode & 0o777], [0, 0, 0o600]);
  assert.equal(readFileSync(secret, 'utf8'), SECRET);
  for (const name of ['node/credential', 'postgres/pg_hba.conf', 'adopting/node/credential']) {
    const path = join(into, name);
    const isCopy = existsSync(path) && !lstatSync(path).isSymbolicLink();
    assert.ok(!isCopy || readFileSync(path, 'utf8') !== SECRET, name);
  }
}
