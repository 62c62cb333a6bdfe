import assert from 'node:assert/strict';
import { globSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { skipUnless } from '../../requirements.ts';
import { Installation } from './installation.ts';
import { folderOf, lacksCommit, programOf, ROOT } from './then.ts';

const COMMIT = 'f433ab77';
const RULES = '/api/v1/firewall/ips/203.0.113.10';

/**
 * docs/operating.md's "Upgrade" on one machine, and its way back. `git pull && npm ci` is a change to the folder of this
 * checkout.
 */
test('npm start of f433ab77, stopped and started as this version, goes on; and back by its backup', {
  skip: skipUnless(['root', 'netns', 'nft', 'postgres', 'git']) || lacksCommit(COMMIT),
}, async (t) => {
  const home = folderOf(t);
  const older = programOf(COMMIT, home);
  const host = new Installation({ checkout: older, home });
  t.after(() => host.cutPower());
  host.run('ip', 'address', 'add', '203.0.113.10/24', 'dev', 'ext0');
  const data = join(home, 'data');
  const backup = join(home, 'backup.gz');
  const site: Site = { host, key: '', server: '' };

  await t.test('then: it enforces a rule, runs a game, and is backed up', async () => {
    await host.startUp();
    const said = host.logOf('up');
    site.key = /^ *(pcl_\w+)$/m.exec(said)?.[1] ?? '';
    site.server = /game-servers\/([0-9a-f-]{36})/.exec(said)?.[1] ?? '';
    await deny(site, 4001);
    await host.command('backup', backup, '--data', data);
    await isWhole(site, [4001]);
    writeFileSync(join(data, 'node/servers', site.server, 'notes.txt'), 'of a player\n');
  });

  await t.test('now: the rule, the key, the table and the game are there', async () => {
    await host.stopUp();
    assert.match(host.run('nft', 'list', 'ruleset'), /\b4001\b/, 'the kernel keeps enforcing');
    host.checkout = ROOT;
    await host.startUp();
    await isWhole(site, [4001]);
    assert.equal(notesOf(site, data), 'of a player\n');
    await deny(site, 4002);
    await isWhole(site, [4001, 4002]);
  });

  await t.test('back: the older version refuses the database, and the backup is what goes on', async () => {
    await host.stopUp();
    host.checkout = older;
    const before = tablesOf(data);
    await assert.rejects(host.startUp(), /newer than this Portcullis/);
    assert.deepEqual(tablesOf(data), before);
    renameSync(join(data, 'postgres'), join(home, 'postgres-of-now'));
    await host.command('restore', backup, '--data', data);
    await host.startUp();
    await isWhole(site, [4001]);
    assert.equal(notesOf(site, data), 'of a player\n');
    await deny(site, 4003);
    await isWhole(site, [4001, 4003]);
  });
});

interface Site {
  readonly host: Installation;
  key: string;
  server: string;
}

async function deny({ host, key }: Site, port: number): Promise<void> {
  const body = { action: 'deny', protocol: 'udp', destination_port: String(port) };
  const { status } = await host.call('POST', `${RULES}/rules`, { key, body });
  assert.equal(status, 201);
}

/** Rules of these ports, and no other, are live and in the kernel, and the game runs with its files. */
async function isWhole({ host, key, server }: Site, ports: readonly number[]): Promise<void> {
  await host.until(`rules of ${ports} are live`, async () => {
    const { body } = await host.call<{
      data?: { rules: readonly { destination_port: number }[] };
    }>('GET', RULES, { key });
    const live = body.data?.rules.map((rule) => rule.destination_port) ?? [];
    return JSON.stringify(live.toSorted()) === JSON.stringify(ports);
  });
  const ruleset = host.run('nft', 'list', 'ruleset');
  for (const port of ports) assert.match(ruleset, new RegExp(`\\b${port}\\b`));
  await host.until('the game runs', async () => {
    const path = `/api/v1/game-servers/${server}`;
    const { body } = await host.call<{ data?: { state: string } }>('GET', path, { key });
    return body.data?.state === 'running';
  });
  await host.until('it accepts players', () => /:4000\b/.test(host.run('ss', '-Htln')));
}

/** What the database has, by the files of its tables. */
function tablesOf(data: string): string[] {
  return globSync('postgres/base/*/*', { cwd: data }).toSorted();
}

function notesOf({ server }: Site, data: string): string {
  return readFileSync(join(data, 'node/servers', server, 'notes.txt'), 'utf8');
}
