import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { createInternet, SERVER } from '../stack/internet.ts';
import { startServices } from '../stack/services.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import {
  openDoor,
  type PortalBrowser,
  SCHEMES,
  type Scheme,
  startPortalBrowser,
} from './browser.ts';
import { takeFiles } from './files-pictures.ts';
import { takeFirewall } from './firewall-pictures.ts';
import { ATTACKED, GAME, LOBBY, PORTAL_FILES, PORTAL_FLEET, WITH_GAMES } from './fleet.ts';
import { startFlood } from './flood.ts';
import { preparePeople, takePeople } from './people-pictures.ts';

/**
 * `npm run build:screenshots [WIDTH HEIGHT FOLDER [people|files]]`: pictures of the portal over a real stack, as root. Without
 * arguments all go into `pictures/`, which git ignores, and those that the documents show also into `docs/portal/`.
 */
const [width = '1280', height = '800', folder = 'pictures', only = 'all'] = process.argv.slice(2);
const IN_DOCUMENTS = [
  'rules-light',
  'rules-dark',
  'drops-light',
  'explain-light',
  'geo-light',
  'attack-light',
  'server-console-light',
  'files-light',
  'operator-fleet-light',
];
const SIZE = { width: Number(width), height: Number(height) };
const IP = SERVER[4];
const FLOOD_MS = 20_000;
const RULES = [
  { action: 'allow', protocol: 'tcp', destination_port: '25565,80,443' },
  { action: 'allow', protocol: 'udp', destination_port: '19132-19135' },
  { action: 'allow', protocol: 'tcp', destination_port: '22', source_ip: '198.51.100.0/28' },
  { action: 'deny', protocol: 'any', source_ip: '198.18.7.0/24' },
  { action: 'deny', protocol: 'tcp', destination_port: '3306' },
  { action: 'deny', protocol: 'udp', destination_port: '11211' },
] as const;

const internet = createInternet('pictures');
const services = startServices(internet);
const door = await openDoor('localhost');
const stack = await startStack(internet, {
  fleet: PORTAL_FLEET,
  files: PORTAL_FILES,
  args: [...WITH_GAMES, '--public-url', door.url],
});
const browser = await startPortalBrowser(stack, door);
let stopFlood = async (): Promise<void> => {};
try {
  mkdirSync(folder, { recursive: true });
  await preparePeople(browser);
  for (const scheme of SCHEMES) {
    const visit = await browser.open(scheme, SIZE);
    const take = (name: string) => takeInto(scheme)(visit.page, name);
    if (only === 'files') await takeFiles(visit, browser.url, take);
    else await takePeople(visit, browser.url, take);
    await visit.close();
  }
  if (only === 'all') {
    await prepare(stack);
    stopFlood = await attack(stack);
    for (const scheme of SCHEMES) {
      await takeAll(browser, scheme);
      const files = await browser.open(scheme, SIZE);
      await takeFiles(files, browser.url, (name) => takeInto(scheme)(files.page, name));
      await files.close();
      const isPrepared = scheme !== SCHEMES[0];
      await takeFirewall(browser, { scheme, size: SIZE, folder, isPrepared });
    }
  }
  if (process.argv.length === 2) {
    for (const name of IN_DOCUMENTS) {
      copyFileSync(join(folder, `${name}.png`), join('docs', 'portal', `${name}.png`));
    }
  }
} finally {
  await stopFlood();
  await browser.stop();
  await stack.stop();
  services.stop();
  internet.destroy();
}

async function prepare({ api }: Stack): Promise<void> {
  for (const rule of RULES) {
    const { headers } = await api.call('POST', `/api/v1/firewall/ips/${IP}/rules`, rule);
    await api.live(IP, headers);
  }
  const knock = `import socket, time
for port in (3306, 3306, 11211, 3306, 1900, 11211):
    if port == 3306:
        s = socket.socket(); s.setblocking(False); s.connect_ex(("${IP}", port))
    else:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x" * 200, ("${IP}", port))
time.sleep(3)`;
  internet.client.run('python3', '-c', knock);
  for (const { uuid } of [GAME, LOBBY]) {
    await api.call('POST', `/api/v1/game-servers/${uuid}/power`, { signal: 'start' });
  }
}

/** One attack that ends, and one that goes on until the returned function is called. */
async function attack({ api }: Stack): Promise<() => Promise<void>> {
  const until = async (ip: string, status: string): Promise<void> => {
    for (;;) {
      const { body } = await api.call('GET', `/api/v1/attacks?ip=${ip}`);
      if ((body as { data: { status: string }[] }).data[0]?.status === status) return;
      await setTimeout(500);
    }
  };
  const stopFirst = startFlood(internet, 'syn+udp', ATTACKED.neighbour);
  await setTimeout(FLOOD_MS);
  await stopFirst();
  await until(ATTACKED.neighbour, 'ended');
  const stop = startFlood(internet, 'dns');
  await until(ATTACKED.ip, 'ongoing');
  // Evidence is renewed every ten seconds.
  await setTimeout(FLOOD_MS);
  return stop;
}

function takeInto(scheme: Scheme) {
  return async (page: Page, name: string): Promise<void> => {
    const path = join(folder, `${name}-${scheme}.png`);
    await page.screenshot({ path, animations: 'disabled' });
  };
}

async function takeServers(
  page: Page,
  url: string,
  take: (name: string) => Promise<unknown>,
): Promise<void> {
  await page.goto(`${url}/servers`);
  await page.getByRole('row').nth(1).waitFor();
  await take('servers');
  await page.goto(`${url}/servers/${LOBBY.uuid}`);
  await page.getByText('Live', { exact: true }).waitFor();
  await page.locator('.console').getByText('Lobby is ready').first().waitFor();
  await take('server-console');
  await page.goto(`${url}/servers/${GAME.uuid}?tab=build`);
  await page.getByRole('tabpanel').waitFor();
  await take('server-build');
  for (const tab of ['resources', 'history', 'ports'] as const) {
    await page.goto(`${url}/servers/${GAME.uuid}?tab=${tab}`);
    await page.getByRole('tabpanel').waitFor();
    await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' });
    if (tab === 'ports') await page.getByText('Open', { exact: true }).first().waitFor();
    await take(`server-${tab}`);
  }
}

async function takeAll({ url, open }: PortalBrowser, scheme: Scheme): Promise<void> {
  const { page, signIn, close } = await open(scheme, SIZE);
  const take = (name: string) => takeInto(scheme)(page, name);
  const show = async (tab: string): Promise<void> => {
    await page.goto(`${url}/addresses/${IP}?tab=${tab}`);
    await page.getByRole('tabpanel').waitFor();
  };
  await page.goto(url);
  await page.getByLabel('Email').waitFor();
  await take('sign-in');
  await signIn();
  await take('addresses');
  await show('rules');
  await page.getByRole('button', { name: 'Add a rule' }).click();
  await page.getByRole('form').getByLabel('Port').fill('7000-7010, 8080');
  await take('rules');
  await show('filters');
  await page.getByRole('heading', { name: 'What passes' }).waitFor();
  await take('filters');
  await show('drops');
  await page.getByRole('heading', { name: 'Why' }).waitFor();
  await take('drops');
  await show('explain');
  await page.getByLabel('From').fill('198.51.100.9');
  await page.getByLabel('To port').fill('3306');
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByRole('heading', { name: 'It is dropped' }).waitFor();
  await take('explain');
  await takeServers(page, url, take);
  await page.goto(`${url}/attacks`);
  await page.getByRole('row').nth(1).waitFor();
  await take('attacks');
  await page.getByRole('link', { name: 'DNS amplification' }).click();
  await page.getByText('Packets a second').click();
  await page.getByRole('img', { name: /over time/ }).waitFor();
  await take('attack');
  await close();
}
