import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { scratchRoot } from '@portcullis/control/db/scratch.ts';
import { makeImages } from '@portcullis/node/images/provide.ts';
import { Dockerd } from '../../docker/dockerd.ts';
import { GameClient } from '../../games/client.ts';
import { seriousFindings } from '../../portal/browser.ts';
import { skipUnless } from '../../requirements.ts';
import { UpIn } from '../../stack/up-in.ts';

const NEEDS = ['root', 'netns', 'nft', 'postgres', 'docker', 'apt', 'chromium'] as const;
const ADDRESS = '198.51.100.77';
const PATIENCE_MS = 120_000;
const GAME = 'flying-squid';
const SERVER = {
  organisation: 'default',
  service: 1,
  name: 'By program',
  egg: `eggs/${GAME}.json`,
  variables: { MOTD: 'By program', ONLINE_MODE: 'false' },
  limits: { memory: 1_024, cpu: 200, disk: 2_048 },
};
/** An egg of an image that is nowhere. */
const OWN_EGG = {
  meta: { version: 'PTDL_v2' },
  name: 'Own',
  docker_images: { main: '~mine/own' },
  startup: './run',
  config: { startup: '{"done": "up"}', stop: 'stop', files: '{}' },
  scripts: { installation: { script: '#!/bin/sh\necho made\n', container: '~mine/own' } },
  variables: [],
};

interface Host {
  readonly ok: boolean;
  readonly commands: readonly string[];
  readonly image: string | null;
}
interface Egg {
  readonly name: string;
  readonly hosts: readonly Host[];
}
interface Server {
  readonly uuid: string;
  readonly allocations: readonly { readonly ip: string; readonly port: number }[];
}

describe('the first game on one box', { skip: skipUnless(NEEDS) }, () => {
  let dockerd: Dockerd;
  let up: UpIn;
  let page: Page;
  const folder = mkdtempSync(join(scratchRoot(), 'portcullis-first-game-'));

  before(async () => {
    // PostgreSQL runs as another account, which must enter it.
    chmodSync(folder, 0o711);
    // Outside of the namespace, which has no way to any registry; on the host of a person the node does it.
    await makeImages({ names: [GAME] });
    dockerd = await Dockerd.start('first-game');
    await dockerd.end('SIGTERM');
    const { namespace } = dockerd;
    namespace.run('ip', 'link', 'add', 'wan0', 'type', 'veth', 'peer', 'name', 'wan1');
    namespace.run('ip', 'address', 'add', `${ADDRESS}/24`, 'dev', 'wan0');
    for (const device of ['wan0', 'wan1']) namespace.run('ip', 'link', 'set', device, 'up');
    up = await UpIn.start(namespace, folder, ['--docker-host', `unix://${dockerd.socket}`]);
    page = await up.open();
  });
  after(async () => {
    await up?.stop();
    await dockerd?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const hostOf = (name: string): Host | undefined => {
    const eggs = up.operator('GET', '/eggs') as Egg[];
    return eggs.find((egg) => egg.name === `eggs/${name}.json`)?.hosts[0];
  };
  const until = async (what: string, isSo: () => boolean): Promise<void> => {
    const deadline = performance.now() + PATIENCE_MS;
    while (!isSo()) {
      if (performance.now() > deadline) throw new Error(`not in time: ${what}`);
      await delay(250);
    }
  };
  const joined = async (port: number): Promise<string | null> => {
    const client = await GameClient.join(dockerd.namespace, GAME, ADDRESS, port);
    await client.close();
    return client.facts.name;
  };

  it('runs its example without Docker, and says in the browser by which commands others run', async () => {
    assert.equal(up.started.server?.problem, null);
    assert.equal(hostOf('hearth')?.ok, true);
    await page.goto(up.linkOf(up.started.operator_link ?? ''));
    await page.getByRole('heading', { name: 'Create your account' }).waitFor();
    await page.getByLabel('Email').fill('ada@example.net');
    await page.getByLabel('Your name').fill('Ada');
    await page.getByLabel('Password', { exact: false }).first().fill('correct horse battery 9');
    await page.getByRole('button', { name: 'Continue' }).click();
    // The only person of the box reads how to enforce, not who does it.
    await page.getByText(/portcullis up --enforce .*--data/).waitFor();
    await page.getByRole('link', { name: 'Game servers' }).click();
    await page.getByRole('button', { name: 'Create a server' }).click();
    await page.getByRole('radio', { name: /Minecraft/ }).click();
    await page.getByText('sudo systemctl enable --now docker').waitFor();
    await page.getByRole('textbox', { name: 'Name' }).fill('Survival');
    const create = page.getByRole('button', { name: 'Create a server' }).last();
    assert.equal(await create.isDisabled(), true);
    assert.deepEqual(await seriousFindings(page), []);
  });

  it('finds Docker when it comes, makes the image, creates the server, and Minecraft answers', async () => {
    await dockerd.launch();
    await page.getByRole('button', { name: 'Make the image' }).click({ timeout: PATIENCE_MS });
    await page.getByRole('progressbar').waitFor();
    const create = page.getByRole('button', { name: 'Create a server' }).last();
    await page.getByText('Ready').nth(1).waitFor({ timeout: PATIENCE_MS });
    await page.getByRole('textbox', { name: 'Players' }).fill('999');
    await create.click();
    await page.getByText(/must be 1 to 200/).waitFor();
    await page.getByRole('textbox', { name: 'Players' }).fill('9');
    await page.getByRole('textbox', { name: 'Message of the day' }).fill('The first game');
    // Beneath its label, which takes the click.
    await page.getByRole('switch', { name: 'Online mode' }).setChecked(false, { force: true });
    await create.click();
    await page.getByRole('heading', { name: 'Survival', level: 1 }).waitFor();
    const start = page.getByRole('button', { name: 'Start', exact: true });
    await until('it is built', () => up.server(uuidOf(page)).provisioned);
    await start.click();
    await until('it runs', () => up.server(uuidOf(page)).state === 'running');
    assert.equal(await joined(25_565), 'The first game');
  });

  it('takes another name and other variables later', async () => {
    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Creative');
    await page.getByRole('textbox', { name: 'Message of the day' }).fill('The second game');
    await page.getByRole('button', { name: 'Save 2 changes' }).click();
    await page.getByRole('heading', { name: 'Creative', level: 1 }).waitFor();
    up.power(uuidOf(page), 'restart');
    await until('it restarts', () => up.server(uuidOf(page)).state !== 'running');
    await until('it runs again', () => up.server(uuidOf(page)).state === 'running');
    assert.equal(await joined(25_565), 'The second game');
  });

  it('does the same by program, and says why an egg of an unknown image is not built', async () => {
    const server = up.operator('POST', '/game-servers', SERVER) as Server;
    const { uuid, allocations } = server;
    await until('it is built', () => up.server(uuid).provisioned);
    up.power(uuid, 'start');
    await until('it runs', () => up.server(uuid).state === 'running');
    assert.equal(await joined(allocations[0]?.port ?? 0), 'By program');
    const { egg: _, variables: __, ...plain } = SERVER;
    const own = { ...plain, name: 'Own', node: 'local', egg_document: OWN_EGG };
    const failed = up.operator('POST', '/game-servers', own) as Server;
    await page.goto(`${up.url}/servers/${failed.uuid}`);
    await page.getByText(/it is a local image, which this node never pulls/).waitFor();
    await page.getByText('Not built yet').waitFor();
    assert.equal(await page.getByText('Its node does not answer').count(), 0);
  });

  it('keeps its example running when Docker goes away, and finds the games again with it', async () => {
    const hearth = up.started.server?.uuid ?? '';
    await dockerd.end('SIGTERM');
    await until('it is missed', () => hostOf(GAME)?.ok === false);
    assert.equal(up.server(hearth).state, 'running');
    await dockerd.launch();
    await until('it is found', () => hostOf(GAME)?.ok === true);
    assert.equal(up.server(hearth).state, 'running');
  });
});

/** The uuid of the server whose page is shown. */
function uuidOf(page: Page): string {
  return /\/servers\/([0-9a-f-]{36})/.exec(page.url())?.[1] ?? '';
}
