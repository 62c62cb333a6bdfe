import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { scratchRoot } from '@portcullis/control/db/scratch.ts';
import { makeImages } from '@portcullis/node/images/provide.ts';
import { Dockerd } from '../../docker/dockerd.ts';
import { GameClient } from '../../games/client.ts';
import { skipUnless } from '../../requirements.ts';
import { UpIn } from '../../stack/up-in.ts';

const NEEDS = ['root', 'netns', 'nft', 'postgres', 'docker', 'apt', 'chromium', 'sshd'] as const;
const ADDRESS = '198.51.100.78';
const SFTP_PORT = 2_022;
const GAME = 'flying-squid';
const EGG = `eggs/${GAME}.json`;
const PATIENCE_MS = 120_000;
const PASSWORD = 'correct horse battery 9';
const QUOTA = {
  own_servers: 2,
  own_servers_memory: 4_096,
  own_servers_cpu: 400,
  own_servers_disk: 16_384,
};
const LAUNCHER = join(import.meta.dirname, '..', '..', '..', 'portcullis');
const PROPERTIES = 'motd=Hello\nmax-players=20\n';
/** Restart and console alone; then also to look at files, by SFTP. */
const FEW = ['control.console', 'control.restart'];
const MORE = [...FEW, 'file.sftp', 'file.read'];

interface Person {
  readonly id: number;
  readonly email: string;
}

async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`not in time: ${what}`);
    await delay(250);
  }
}

describe("a community's evening", { skip: skipUnless(NEEDS) }, () => {
  let dockerd: Dockerd;
  let up: UpIn;
  let key: string;
  /** The owner of the organisation. */
  let owner: Page;
  const folder = mkdtempSync(join(scratchRoot(), 'portcullis-evening-'));
  const plugins = join(folder, 'plugins');
  const home = join(folder, 'home');

  before(async () => {
    chmodSync(folder, 0o711);
    mkdirSync(join(plugins, 'Maps'), { recursive: true });
    mkdirSync(home);
    writeFileSync(join(plugins, 'maps.js'), 'module.exports = () => {}\n');
    writeFileSync(join(plugins, 'Maps', 'config.yml'), 'tiles: 9\n');
    writeFileSync(join(home, 'ask'), '#!/bin/sh\nexec cat "$0.secret"\n', { mode: 0o700 });
    await makeImages({ names: [GAME] });
    dockerd = await Dockerd.start('evening');
    const { namespace } = dockerd;
    namespace.run('ip', 'link', 'add', 'wan0', 'type', 'veth', 'peer', 'name', 'wan1');
    namespace.run('ip', 'address', 'add', `${ADDRESS}/24`, 'dev', 'wan0');
    for (const device of ['wan0', 'wan1']) namespace.run('ip', 'link', 'set', device, 'up');
    const docker = ['--docker-host', `unix://${dockerd.socket}`];
    const sftpListen = ['--sftp-listen', `0.0.0.0:${SFTP_PORT}`];
    up = await UpIn.start(namespace, folder, [...docker, ...sftpListen]);
    const { name, flags } = up.operator('GET', '/organisations/default') as {
      name: string;
      flags: string[];
    };
    up.operator('PUT', '/organisations/default', { name, flags, limits: QUOTA });
    const made = up.operator('POST', '/organisations/default/keys', {
      name: 'evening',
      abilities: ['read', 'manage', 'files', 'settings', 'create'].map(
        (ability) => `game-servers.${ability}`,
      ),
    }) as { secret?: string };
    key = made.secret ?? '';
    await makeImage();
    owner = await up.open();
    await signUp(owner, up.started.operator_link ?? '', 'Ada');
  });
  after(async () => {
    await up?.stop();
    await dockerd?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Waits until the node of this host has the image of the game. */
  async function makeImage(): Promise<void> {
    up.operator('POST', `/nodes/local/images/${GAME}`);
    await until('the image is made', () => {
      const images = up.operator('GET', '/images') as { name: string; state: string }[];
      const image = images.find(({ name }) => name === GAME);
      assert.notEqual(image?.state, 'failed', JSON.stringify(image));
      return image?.state === 'ready';
    });
  }

  /** A page with cookies of its own. */
  async function newPage(): Promise<Page> {
    const context = await owner.context().browser()?.newContext();
    const page = await context?.newPage();
    assert.ok(page);
    page.setDefaultTimeout(60_000);
    return page;
  }

  async function signUp(page: Page, link: string, name: string): Promise<void> {
    await page.goto(up.linkOf(link));
    await page.getByLabel('Your name').fill(name);
    // An invitation says whose it is.
    const email = page.getByLabel('Email');
    if ((await email.count()) > 0) await email.fill('ada@example.net');
    await page.getByLabel('Password', { exact: false }).first().fill(PASSWORD);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('link', { name: 'Game servers' }).waitFor();
  }

  /** Accepts an invitation in a browser of its own, and makes an SFTP password there. */
  async function befriend(link: string): Promise<Page> {
    const page = await newPage();
    await signUp(page, link, 'Friend');
    const secret = (await call(page, 'POST', '/account/sftp-passwords', {
      name: 'laptop',
      days: 1,
      password: PASSWORD,
    })) as { password: string };
    writeFileSync(join(home, 'ask.secret'), secret.password);
    return page;
  }

  /** Calls the interface as the person of a page. */
  async function call(page: Page, method: string, path: string, data?: object): Promise<unknown> {
    const reply = await page.request.fetch(`${up.url}/api/portal${path}`, {
      method,
      headers: { 'x-portcullis-csrf': '1' },
      ...(data !== undefined && { data }),
    });
    const body = (await reply.json()) as { data?: unknown };
    assert.ok(reply.ok(), `${method} ${path}: ${JSON.stringify(body)}`);
    return body.data;
  }
  const ofServer = (uuid: string) => `/organisations/default/x1/game-servers/${uuid}`;

  /** The command with a key of the organisation. */
  function command(...args: readonly string[]): string {
    const env = ['env', `PORTCULLIS_API_KEY=${key}`, `HOME=${home}`];
    return dockerd.namespace.run(...env, LAUNCHER, ...args);
  }

  async function joins(port: number): Promise<string | null> {
    const client = await GameClient.join(dockerd.namespace, GAME, ADDRESS, port);
    await client.close();
    return client.facts.name;
  }

  function connect(uuid: string, friend: string): ChildProcess {
    const options = ['StrictHostKeyChecking=no', `UserKnownHostsFile=${join(home, 'known')}`];
    const args = [...options, 'ConnectTimeout=20'].flatMap((one) => ['-o', one]);
    const user = `${friend}.${uuid.slice(0, 8)}@${ADDRESS}`;
    const words = ['sftp', ...args, '-q', '-P', String(SFTP_PORT), user];
    const [program, ...rest] = dockerd.namespace.command(...words);
    const asking = { SSH_ASKPASS: join(home, 'ask'), SSH_ASKPASS_REQUIRE: 'force' };
    const env = { ...process.env, ...asking, SSH_AUTH_SOCK: '', HOME: home };
    return spawn(program, rest, { cwd: home, env });
  }

  /** Runs commands of OpenSSH's sftp; returns its exit code and what it wrote. */
  async function sftp(
    uuid: string,
    friend: string,
    commands: string,
  ): Promise<{ code: number; output: string }> {
    const client = connect(uuid, friend);
    client.stdin?.on('error', () => undefined).end(`${commands}\n`);
    const written = Promise.all(
      [client.stdout, client.stderr].map((part) => text(part as NodeJS.ReadableStream)),
    );
    const [code] = (await once(client, 'exit')) as [number | null];
    return { code: code ?? -1, output: (await written).join('') };
  }

  /** The friend may do ever less; each time the door says so, the last time while it is in. */
  async function watchFriend(
    uuid: string,
    friend: string,
    setRights: (rights: readonly string[]) => Promise<void>,
  ) {
    const refused = await sftp(uuid, friend, 'ls');
    assert.notEqual(refused.code, 0, refused.output);
    await setRights(MORE);
    await until('the friend is let in', async () => (await sftp(uuid, friend, 'ls')).code === 0);
    const { output } = await sftp(
      uuid,
      friend,
      'ls\nput ask plugins/ask\nget server.properties back',
    );
    assert.match(output, /plugins/);
    assert.match(output, /(?:put|open|dest open).*(?:[Pp]ermission denied|Failure)/);
    assert.doesNotMatch(output, /100%/);
    const inside = connect(uuid, friend);
    inside.stdin?.on('error', () => undefined).write('pwd\n');
    inside.stdout?.resume();
    inside.stderr?.resume();
    const ended = once(inside, 'exit');
    await setRights([]);
    const asking = setInterval(() => inside.stdin?.write('ls\n'), 200);
    await ended;
    clearInterval(asking);
    assert.notEqual((await sftp(uuid, friend, 'ls')).code, 0);
  }

  it('is made in the browser: a server, its plugins and settings, and a friend with few rights', async () => {
    await owner.getByRole('link', { name: 'Library' }).click();
    await owner.getByRole('button', { name: 'New server: Minecraft (flying-squid)' }).click();
    await owner.getByRole('textbox', { name: 'Name' }).fill('Community');
    await owner.getByRole('textbox', { name: 'Message of the day' }).fill('Our evening');
    // Beneath its label, which takes the click.
    await owner.getByRole('switch', { name: 'Online mode' }).setChecked(false, { force: true });
    await owner.getByLabel('Memory, MiB').fill('1024');
    await owner.getByRole('button', { name: 'Make the server' }).click();
    await owner.getByRole('heading', { name: 'Community is ready' }).waitFor();
    await owner.getByText(new RegExp(`^${ADDRESS}:25\\d{3}$`)).waitFor();
    await owner.getByRole('button', { name: 'Start it' }).click();
    await owner.getByRole('button', { name: 'Open the server' }).click();
    await owner.getByText('Running', { exact: true }).waitFor();
    const uuid = /\/servers\/([0-9a-f-]{36})/.exec(owner.url())?.[1] ?? '';
    assert.equal(await joins(25_565), 'Our evening');

    await owner.getByRole('tab', { name: 'Files' }).click();
    await owner.locator('input[webkitdirectory]').setInputFiles(plugins);
    await owner.getByText('Uploaded 2 of 2 files').waitFor();
    const file = `${ofServer(uuid)}/files/content?path=server.properties`;
    await call(owner, 'PUT', file, { content: PROPERTIES });
    await owner.reload();
    await owner.getByRole('button', { name: 'server.properties', exact: true }).click();
    const editor = owner.getByRole('textbox', { name: /^server\.properties/ });
    await editor.getByText('max-players=20').click();
    await owner.keyboard.press('End');
    await owner.keyboard.type('0');
    await owner.keyboard.press('Control+s');
    await owner.getByText('Saved', { exact: true }).waitFor();
    const { content } = (await call(owner, 'GET', file)) as { content: string };
    assert.equal(content, PROPERTIES.replace('=20', '=200'));

    await owner.goto(`${up.url}/servers/${uuid}?tab=people`);
    await owner.getByRole('button', { name: 'Invite a person' }).click();
    await owner.getByLabel('Email').fill('friend@example.net');
    await owner.getByRole('button', { name: 'Console and restart' }).click();
    await owner.getByRole('button', { name: 'Make the link' }).click();
    const link = await owner.getByRole('dialog').locator('output').innerText();
    const friend = await befriend(link);
    await friend.getByRole('link', { name: 'Community' }).click();
    await friend.getByText('Live', { exact: true }).waitFor();
    await friend.locator('button[aria-disabled=true]', { hasText: 'Stop' }).waitFor();
    await friend.getByRole('button', { name: 'Restart', exact: true }).click();
    const { people } = (await call(owner, 'GET', `${ofServer(uuid)}/people`)) as {
      people: readonly Person[];
    };
    const { id } =
      people.find(({ email }) => email === 'friend@example.net') ?? assert.fail('no friend');
    await watchFriend(uuid, 'friend@example.net', async (rights) => {
      const path = `${ofServer(uuid)}/people/${id}`;
      if (rights.length === 0) await call(owner, 'DELETE', path);
      else await call(owner, 'PUT', path, { rights });
    });
    await friend.reload();
    await friend.getByText('You belong to no organisation').waitFor();
  });

  it('is made by command: the same, until the rights of the friend end', async () => {
    const made = command(
      'servers',
      'create',
      'Second',
      '--egg',
      EGG,
      '--memory',
      '1024',
      '--wait',
      '--set',
      'ONLINE_MODE=false',
      '--set',
      'MOTD=By command',
    );
    assert.match(made, new RegExp(`Players connect to ${ADDRESS} port 25\\d{3}`));
    const port = Number(/port (\d+)/.exec(made)?.[1]);
    command('servers', 'power', 'start', 'Second', '--wait');
    assert.equal(await joins(port), 'By command');
    command('servers', 'files', 'put', 'Second', plugins, 'plugins');
    assert.match(command('servers', 'files', 'ls', 'Second', 'plugins'), /maps\.js/);
    writeFileSync(join(home, 'server.properties'), PROPERTIES);
    command(
      'servers',
      'files',
      'put',
      'Second',
      join(home, 'server.properties'),
      'server.properties',
    );
    const read = join(home, 'read');
    command('servers', 'files', 'get', 'Second', 'server.properties', read);
    assert.equal(readFileSync(read, 'utf8'), PROPERTIES);

    const person = 'second@example.net';
    const link = command('servers', 'people', 'invite', 'Second', person, ...FEW).split('\n')[0];
    await befriend(link ?? '');
    const servers = JSON.parse(command('servers', 'list', '--json')) as {
      data: readonly { uuid: string; name: string }[];
    };
    const uuid = servers.data.find(({ name }) => name === 'Second')?.uuid ?? '';
    await watchFriend(uuid, person, async (rights) => {
      if (rights.length === 0) command('servers', 'people', 'remove', 'Second', person);
      else command('servers', 'people', 'set', 'Second', person, ...rights);
    });
    command('servers', 'delete', 'Second', '--yes');
    assert.doesNotMatch(command('servers', 'list'), /Second/);
    assert.match(command('servers', 'quota'), /servers +\d +2/);
  });
});
