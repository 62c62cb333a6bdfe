import assert from 'node:assert/strict';
import { globSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { skipUnless } from '../../requirements.ts';
import { Installation } from './installation.ts';
import { FIXTURES, folderOf, lacksCommit, migratesFrom, programOf, ROOT } from './then.ts';

const RULES = '/api/v1/firewall/ips/203.0.113.10';

for (const commit of FIXTURES)
  test(
    `npm start of ${commit}, stopped and started as this version, goes on; and back by its backup`,
    {
      skip: skipUnless(['root', 'netns', 'nft', 'postgres', 'git']) || lacksCommit(commit),
    },
    (t) => goesThereAndBack(t, commit),
  );

/**
 * docs/operating.md's "Upgrade" on one machine, and its way back. `git pull && npm ci` is a change to the folder of this
 * checkout.
 */
async function goesThereAndBack(t: TestContext, commit: string): Promise<void> {
  const home = folderOf(t);
  const older = programOf(commit, home);
  const host = new Installation({ checkout: older, home });
  t.after(() => host.cutPower());
  host.run('ip', 'address', 'add', '203.0.113.10/24', 'dev', 'ext0');
  const data = join(home, 'data');
  const site: Site = { host, data, backup: join(home, 'backup.gz'), key: '', server: '' };

  await t.test('then: it enforces a rule, runs a game, and is backed up', () => begins(site));
  await t.test('now: the rule, the key, the table and the game are there', async () => {
    await host.stopUp();
    assert.match(host.run('nft', 'list', 'ruleset'), /\b4001\b/, 'the kernel keeps enforcing');
    host.checkout = ROOT;
    await host.startUp();
    await isWhole(site, [4001]);
    await deny(site, 4002);
    await isWhole(site, [4001, 4002]);
  });
  await t.test(
    'back: the older version refuses the database, and goes on with the backup',
    async () => {
      await host.stopUp();
      host.checkout = older;
      const before = filesOf(data);
      if (migratesFrom(older)) await assert.rejects(host.startUp(), /newer than this Portcullis/);
      assert.deepEqual(filesOf(data), before);
      renameSync(join(data, 'postgres'), join(home, 'postgres-of-now'));
      await host.command('restore', site.backup, '--data', data);
      await host.startUp();
      await isWhole(site, [4001]);
      await deny(site, 4003);
      await isWhole(site, [4001, 4003]);
    },
  );
}

async function begins(site: Site): Promise<void> {
  const { host, data, backup } = site;
  await host.startUp();
  const said = host.logOf('up');
  site.key = /^ *(pcl_\w+)$/m.exec(said)?.[1] ?? '';
  site.server = /game-servers\/([0-9a-f-]{36})/.exec(said)?.[1] ?? '';
  await deny(site, 4001);
  await host.command('backup', backup, '--data', data);
  writeFileSync(notesOf(site), 'of a player\n');
  await isWhole(site, [4001]);
}

interface Site {
  readonly host: Installation;
  readonly data: string;
  readonly backup: string;
  key: string;
  server: string;
}

async function deny({ host, key }: Site, port: number): Promise<void> {
  const body = { action: 'deny', protocol: 'udp', destination_port: String(port) };
  const { status } = await host.call('POST', `${RULES}/rules`, { key, body });
  assert.equal(status, 201);
}

/** Rules of these ports, and no other, are live and in the kernel, and the game runs with its files. */
async function isWhole(site: Site, ports: readonly number[]): Promise<void> {
  const { host, key, server } = site;
  await host.until(`rules of ${ports} are live`, async () => {
    const { body } = await host.call<{
      data?: { rules: readonly { destination_port: number }[] };
    }>('GET', RULES, { key });
    const live = body.data?.rules.map((rule) => rule.destination_port) ?? [];
    return JSON.stringify(live.toSorted((one, other) => one - other)) === JSON.stringify(ports);
  });
  const ruleset = host.run('nft', 'list', 'ruleset');
  for (const port of ports) assert.match(ruleset, new RegExp(`\\b${port}\\b`));
  await host.until('the game runs', async () => {
    const path = `/api/v1/game-servers/${server}`;
    const { body } = await host.call<{ data?: { state: string } }>('GET', path, { key });
    return body.data?.state === 'running';
  });
  assert.equal(readFileSync(notesOf(site), 'utf8'), 'of a player\n');
  await host.until('it accepts players', () => /:4000\b/.test(host.run('ss', '-Htln')));
}

function filesOf(data: string): string[] {
  return globSync('postgres/base/*/*', { cwd: data }).toSorted();
}

function notesOf({ server, data }: Site): string {
  return join(data, 'node/servers', server, 'notes.txt');
}
