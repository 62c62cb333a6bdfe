import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createMemoryLink } from '@portcullis/link/transport/memory.ts';
import type { ControlReply } from '@portcullis/link/messages/messages.ts';
import type { CancelledAttack, SettingsRequest } from '@portcullis/link/messages/attacks.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { WatchSettingsCache } from './settings.ts';
import { SettingsStore } from './store.ts';

const LOG = { debug() {}, info() {}, warn() {}, error() {} };

function scopeOf(scope: string, pps = 20_000): WatchScope {
  const mitigation = 'on';
  return { scope, pps, bps: 1e9, holdMs: 60_000, mitigation, safelist: [], subject: true };
}
const PAGES: readonly (readonly WatchScope[])[] = [
  [scopeOf('203.0.113.0/24'), scopeOf('203.0.113.7', 5)],
  [scopeOf('2001:db8::/32')],
];

const CANCELLED = [{ subject: '203.0.113.7', startedAtMs: 1_790_000_000_000 }];

async function meet(t: TestContext, answer: (requested: SettingsRequest) => ControlReply) {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-watch-'));
  const requested: SettingsRequest[] = [];
  const link = createMemoryLink(async (_, request) => {
    assert.ok(request.kind === 'detection.getSettings');
    requested.push(request);
    return answer(request);
  });
  const agent = link.connect({ kind: 'edge', name: 'fra1' });
  const connected = Promise.withResolvers<void>();
  agent.onConnect(() => connected.resolve());
  await connected.promise;
  const changes: (readonly WatchScope[])[] = [];
  const cancels: (readonly CancelledAttack[])[] = [];
  const changed = (scopes: readonly WatchScope[], cancelled: readonly CancelledAttack[]) => {
    changes.push(scopes);
    cancels.push(cancelled);
  };
  const store = new SettingsStore(folder, LOG);
  const create = () =>
    new WatchSettingsCache({ link: agent, instance: 'one', store, log: LOG, changed });
  const keeper = create();
  t.after(async () => {
    await keeper.stop();
    await agent.close();
    await link.control.close();
    rmSync(folder, { recursive: true });
  });
  const until = async (hope: () => boolean): Promise<void> => {
    for (let tries = 0; !hope(); tries++) {
      assert.ok(tries < 6_000, `in vain: ${hope}`);
      await delay(5);
    }
  };
  return { keeper, create, requested, changes, cancels, folder, until };
}

/** Two pages of one version. */
function paged(version: () => string): (requested: SettingsRequest) => ControlReply {
  return ({ version: held, cursor }) => {
    if (held === version()) {
      return { kind: 'watch.settings', version: held, scopes: null, next: null };
    }
    const index = cursor === null ? 0 : 1;
    const scopes = PAGES[index] ?? [];
    const next = index === 0 ? 'two' : null;
    const settings = { kind: 'watch.settings', version: version(), scopes, next } as const;
    return index === 0 ? { ...settings, cancelled: CANCELLED } : settings;
  };
}

test('settings come in pages and are fetched again only for a new version', async (t) => {
  const { keeper, requested, changes, until } = await meet(
    t,
    paged(() => 'v1'),
  );
  keeper.greeted();
  await until(() => changes.length === 1);
  assert.deepEqual(changes, [PAGES.flat()]);
  keeper.poke();
  await until(() => requested.length === 3);
  assert.equal(requested[2]?.version, 'v1');
  keeper.poke('v1');
  keeper.poke('v2');
  await until(() => requested.length === 4);
  assert.equal(changes.length, 1);
});

test('a restart without control keeps scopes and cancelled attacks', async (t) => {
  const { keeper, create, changes, cancels, until } = await meet(
    t,
    paged(() => 'v1'),
  );
  keeper.greeted();
  await until(() => changes.length === 1);
  await keeper.stop();
  const restarted = create();
  restarted.load();
  assert.deepEqual(changes[1], changes[0]);
  assert.deepEqual(cancels, [CANCELLED, CANCELLED]);
  await restarted.stop();
});

test('a damaged file is ignored', async (t) => {
  const { keeper, create, changes, folder, until } = await meet(
    t,
    paged(() => 'v1'),
  );
  keeper.greeted();
  await until(() => changes.length === 1);
  await keeper.stop();
  const path = join(folder, 'watch.json');
  const text = readFileSync(path, 'utf8');
  const damages = [
    text.slice(0, -9),
    text.replace('20000', '-1'),
    text.replace('"startedAtMs":', '"startedAtMs":-'),
    text.replace('"format":1', '"format":2'),
    '',
    'null',
  ];
  for (const damaged of damages) {
    writeFileSync(path, damaged);
    create().load();
  }
  assert.equal(changes.length, 1);
});

test('settings that change between two pages are fetched again', async (t) => {
  let version = 1;
  const { keeper, changes, until } = await meet(t, (request) => {
    if (request.cursor !== null && version === 1) version = 2;
    return paged(() => `v${version}`)(request);
  });
  keeper.greeted();
  await until(() => changes.length === 1);
  assert.equal(version, 2);
  assert.deepEqual(changes, [PAGES.flat()]);
});

test('endless pages and too many scopes are rejected', async (t) => {
  const many = Array.from({ length: 10_000 }, (_, n) => scopeOf(`10.0.${n >> 8}.${n & 255}`));
  for (const scopes of [[], many]) {
    const { keeper, requested, changes, until } = await meet(t, () => ({
      kind: 'watch.settings',
      version: 'v1',
      scopes,
      next: 'more',
    }));
    keeper.greeted();
    const pages = scopes.length === 0 ? 2 : 11;
    await until(
      () =>
        requested.length >= pages && requested.filter(({ cursor }) => cursor === null).length === 2,
    );
    assert.equal(changes.length, 0);
    await keeper.stop();
    const first = requested.findLastIndex(({ cursor }) => cursor === null);
    assert.equal(first, scopes.length === 0 ? 2 : 11);
  }
});
