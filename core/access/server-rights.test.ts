import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ABILITIES } from './abilities.ts';
import {
  completeRights,
  isServerRight,
  rightsOfAbilities,
  rightsOfRole,
  SEES,
  SERVER_RIGHT_GROUPS,
  SERVER_RIGHTS,
  ungiveable,
} from './server-rights.ts';

test('every right is named once, as GROUP.NAME, and described in a sentence', () => {
  assert.equal(new Set(SERVER_RIGHTS).size, SERVER_RIGHTS.length);
  for (const { title, rights } of SERVER_RIGHT_GROUPS) {
    assert.ok(title !== '' && rights.length > 0);
    for (const { right, description } of rights) {
      assert.match(right, /^[a-z]+\.[a-z-]+$/);
      assert.match(description, /^[A-Z].*\.$/);
    }
  }
  assert.ok(isServerRight('file.read-content') && !isServerRight('file.constructor'));
});

test('no ability of a key and no lower role grants what a higher one lacks', () => {
  const ranks = ['read-only', 'member', 'admin', 'owner'] as const;
  for (const [at, role] of ranks.entries()) {
    const above = rightsOfRole(ranks[at + 1] ?? role);
    assert.deepEqual(
      [...rightsOfRole(role)].filter((right) => !above.has(right)),
      [],
    );
    assert.ok(rightsOfRole(role).has(SEES));
  }
  assert.ok(!rightsOfRole('read-only').has('control.console'));
  assert.ok(!rightsOfRole('member').has('user.create'));
  assert.deepEqual(
    [...rightsOfAbilities(ABILITIES)].filter((right) => !isServerRight(right)),
    [],
  );
  assert.deepEqual([...rightsOfAbilities(['firewall.manage', 'attacks.read'])], []);
  assert.ok(!rightsOfAbilities(['game-servers.files']).has('control.console'));
});

test('rights are stored in one order, once each, and bring the right to see the server', () => {
  assert.deepEqual(completeRights(['file.read', 'control.restart', 'file.read']), [
    SEES,
    'control.restart',
    'file.read',
  ]);
  assert.deepEqual(completeRights([]), []);
});

test('nobody gives away a right that he lacks', () => {
  const own = new Set(completeRights(['user.create', 'control.restart']));
  assert.deepEqual(ungiveable(own, ['control.restart']), []);
  assert.deepEqual(ungiveable(own, ['control.restart', 'file.read', 'user.delete']), [
    'file.read',
    'user.delete',
  ]);
});
