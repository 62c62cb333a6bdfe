import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { skipUnless } from '../requirements.ts';
import { createInternet } from '../stack/internet.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import {
  openDoor,
  type PortalBrowser,
  SCHEMES,
  requireNoSidewaysScroll,
  seriousFindings,
  startPortalBrowser,
  type Visit,
} from './browser.ts';
import { eventually } from '../system/stack-fixture.ts';
import { ADA, callAs, PASSWORD, typePassword } from './people.ts';
import { GAME, LOBBY, PORTAL_FILES, PORTAL_FLEET, WITH_GAMES } from './fleet.ts';

const TABS = [
  'console',
  'files',
  'sftp',
  'resources',
  'history',
  'ports',
  'build',
  'people',
  'activity',
  'settings',
];
const SETTINGS = `/organisations/acme/x1/game-servers/${GAME.uuid}/settings`;
const NEEDS = ['root', 'netns', 'nft', 'postgres', 'chromium'] as const;

describe('game servers in a browser, over a node that runs one', {
  skip: skipUnless(NEEDS),
}, () => {
  let stack: Stack;
  let browser: PortalBrowser;
  const undo: (() => Promise<void> | void)[] = [];

  before(async () => {
    const internet = createInternet('games');
    undo.push(() => internet.destroy());
    const door = await openDoor('localhost');
    undo.push(() => door.close());
    stack = await startStack(internet, {
      fleet: PORTAL_FLEET,
      files: PORTAL_FILES,
      args: [...WITH_GAMES, '--public-url', door.url],
    });
    undo.push(() => stack.stop());
    browser = await startPortalBrowser(stack, door);
    undo.push(() => browser.stop());
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });

  async function visitList(scheme: (typeof SCHEMES)[number] = 'light'): Promise<Visit> {
    const visit = await browser.open(scheme);
    await visit.signIn();
    await visit.page.goto(`${browser.url}/servers`);
    await visit.page.getByRole('row').nth(1).waitFor();
    return visit;
  }

  it('lists servers with their state, and shows a change without a reload', async () => {
    const visit = await visitList();
    const { page } = visit;
    await page.getByRole('row', { name: /Hearth.*Offline/ }).waitFor();
    await page.getByRole('row', { name: /Old arena.*Suspended/ }).waitFor();
    await stack.api.call('POST', `/api/v1/game-servers/${GAME.uuid}/power`, { signal: 'start' });
    await page.getByRole('row', { name: /Hearth.*Running/ }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('An address, a server, an area, a command…').fill('hear');
    await page.getByRole('option', { name: 'Hearth Game server' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Hearth', level: 1 }).waitFor();
    assert.deepEqual(visit.faults, []);
    await visit.close();
  });

  async function visitServer(
    tab: string,
    scheme: (typeof SCHEMES)[number] = 'light',
  ): Promise<Visit> {
    const visit = await visitList(scheme);
    await visit.page.goto(`${browser.url}/servers/${GAME.uuid}?tab=${tab}`);
    await visit.page.getByRole('tabpanel').waitFor();
    return visit;
  }

  it('stops and starts a server by buttons that say why they cannot be pressed', async () => {
    const visit = await visitServer('build');
    const { page } = visit;
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    await page.locator('button[aria-disabled=true]', { hasText: 'Start' }).hover();
    await page.getByRole('tooltip', { name: 'It is already running.' }).waitFor();
    await button('Stop').click();
    await page.getByText('Offline', { exact: true }).waitFor();
    await page.locator('button[aria-disabled=true]', { hasText: 'Kill' }).waitFor();
    await button('Start').click();
    await page.getByText('Running', { exact: true }).waitFor();
    await button('Kill').click();
    await page.getByRole('dialog', { name: 'Kill Hearth?' }).waitFor();
    await page.getByRole('button', { name: 'Kill it' }).click();
    await page.getByText('Offline', { exact: true }).waitFor();
    await button('Start').click();
    await page.getByText('Running', { exact: true }).waitFor();
    assert.deepEqual(visit.faults, []);
    await visit.close();
  });

  it('shows the console live, sends commands, and finds what the game wrote', async () => {
    const visit = await visitServer('console');
    const { page } = visit;
    const terminal = page.locator('.console');
    await page.getByText('Live', { exact: true }).waitFor();
    const command = page.getByLabel('Command');
    await command.fill('say the bridge is closed');
    await page.keyboard.press('Enter');
    await terminal.getByText('the bridge is closed').first().waitFor();
    await eventually('it is sent', async () => (await command.inputValue()) === '');
    await page.getByLabel('Search in the console').fill('bridge');
    await page.getByText(/^1 of \d+$/).waitFor();
    await command.press('ArrowUp');
    assert.equal(await command.inputValue(), 'say the bridge is closed');

    const sending = Promise.withResolvers<void>();
    await page.route('**/command', async (route) => {
      await sending.promise;
      await route.continue();
    });
    await command.press('Enter');
    await command.fill('say typed meanwhile');
    const pending = page.locator('.command button[data-loading]');
    await pending.waitFor();
    sending.resolve();
    await pending.waitFor({ state: 'detached' });
    assert.equal(await command.inputValue(), 'say typed meanwhile');
    await page.unrouteAll({ behavior: 'wait' });
    assert.deepEqual(visit.faults, []);
    await visit.close();
  });

  it('shows the colours of a hostile game, and obeys nothing else that it writes', async () => {
    const visit = await visitList();
    const { page } = visit;
    await page.getByRole('link', { name: LOBBY.name }).click();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    const terminal = page.locator('.console');
    const line = terminal.getByText('not hidden <img src=x onerror=alert(1)>');
    await line.first().waitFor();
    await terminal.getByText('Starting lobby server').first().waitFor();
    const colours = await page.evaluate<string[]>(
      "[...document.querySelectorAll('.xterm-rows span')].filter((span) => /INFO|WARN|ERROR/.test(span.textContent)).map((span) => getComputedStyle(span).color)",
    );
    assert.equal(new Set(colours).size, 3, colours.join(' '));
    assert.equal(await page.title(), 'Lobby · Portcullis');
    assert.equal(await terminal.locator('a, img').count(), 0);
    assert.deepEqual(visit.faults, []);
    await visit.close();
  });

  it('shows on one time line what happened, and the firewall state of its ports', async () => {
    const visit = await visitServer('history');
    const { page } = visit;
    await page.getByRole('listitem').filter({ hasText: 'Running' }).first().waitFor();
    await stack.api.call('POST', `/api/v1/game-servers/${LOBBY.uuid}/command`, {
      command: 'crash',
    });
    await page.goto(`${browser.url}/servers/${LOBBY.uuid}?tab=history`);
    await page
      .getByText(/^Crashed/)
      .first()
      .waitFor();
    await page.getByRole('img', { name: /1 crash, 0 attacks/ }).waitFor();
    await visit.page.goto(`${browser.url}/servers/${GAME.uuid}?tab=ports`);
    const port = page.getByRole('row', { name: /7777 TCP/ });
    await port.getByText('Open', { exact: true }).waitFor();
    await port.getByRole('link', { name: 'Rules' }).click();
    await page.getByRole('heading', { name: GAME.ip, level: 1 }).waitFor();
    assert.deepEqual(visit.faults, []);
    await visit.close();
  });

  it('lets a friend restart one server and read its console, until that is taken away', async () => {
    const owner = await browser.open('light');
    await owner.act(ADA, 'acme');
    const { page } = owner;
    await page.goto(`${browser.url}/servers/${GAME.uuid}?tab=people`);
    await page.getByRole('button', { name: 'Invite a person' }).click();
    await page.getByLabel('Email').fill('friend@example.net');
    await page.getByRole('button', { name: 'Console and restart' }).click();
    await page.getByRole('button', { name: 'Make the link' }).click();
    const { hash } = new URL(await page.getByRole('dialog').locator('output').innerText());
    await page.getByRole('button', { name: 'I have saved it' }).click();

    const friend = await browser.open('dark');
    const theirs = friend.page;
    await theirs.goto(`${browser.url}/link${hash}`);
    await theirs.getByRole('heading', { name: 'Join Hearth', level: 1 }).waitFor();
    await theirs.getByLabel('Your name').fill('Friend');
    await typePassword(theirs, PASSWORD);
    await theirs.getByRole('button', { name: 'Continue' }).click();
    await theirs.getByRole('heading', { name: 'Game servers', level: 1 }).waitFor();
    await theirs.getByRole('link', { name: 'Hearth' }).waitFor();
    assert.equal(await theirs.getByRole('row').count(), 2);
    assert.equal(await theirs.getByRole('link', { name: 'Addresses' }).count(), 0);
    await theirs.getByRole('link', { name: 'Hearth' }).click();
    await theirs.getByText('Live', { exact: true }).waitFor();
    await theirs.locator('button[aria-disabled=true]', { hasText: 'Stop' }).hover();
    await theirs.getByRole('tooltip', { name: /You lack the right “control\.stop”/ }).waitFor();
    const restarted = theirs.waitForResponse((reply) => reply.url().endsWith('/power'));
    await theirs.getByRole('button', { name: 'Restart', exact: true }).click();
    assert.equal((await restarted).status(), 200);

    await page.goto(`${browser.url}/servers/${GAME.uuid}?tab=activity`);
    await page.getByRole('row', { name: /friend@example\.net.*Power.*restart/ }).waitFor();
    await page.goto(`${browser.url}/servers/${GAME.uuid}?tab=people`);
    await page.getByRole('button', { name: 'Remove Friend' }).click();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('Nobody besides the members').waitFor();
    await theirs.reload();
    await theirs.getByText('You belong to no organisation').waitFor();
    assert.deepEqual(owner.faults, []);
    await owner.close();
    await friend.close();
  });

  /** An operator who acts for acme, because the key of the lab has no right to settings. */
  async function visitSettings(scheme: (typeof SCHEMES)[number]): Promise<Visit> {
    const visit = await browser.open(scheme);
    await visit.act(ADA, 'acme');
    await visit.page.goto(`${browser.url}/servers/${GAME.uuid}?tab=settings`);
    return visit;
  }

  it('changes settings by the rules of the egg, says what waits for a restart, and restarts', async () => {
    await stack.api.call('POST', `/api/v1/game-servers/${GAME.uuid}/power`, { signal: 'start' });
    const visit = await visitSettings('light');
    const { page } = visit;
    await page.getByText('Running', { exact: true }).waitFor();
    const motd = page.getByRole('textbox', { name: 'Message of the day' });
    await motd.waitFor();
    assert.ok(await motd.isDisabled(), 'the fleet file states it');
    await page
      .getByText(/fleet file of the operator states it/)
      .first()
      .waitFor();
    assert.deepEqual(await seriousFindings(page), []);
    const save = page.getByRole('button', { name: 'Save', exact: true });
    assert.ok(await save.isDisabled(), 'nothing is changed');
    const players = page.getByRole('textbox', { name: 'Players at once' });
    await players.fill('257');
    await page.getByRole('button', { name: 'Save 1 change' }).click();
    await page.getByText(/must be 1 to 256/).waitFor();
    await players.fill('4');
    await page.getByRole('switch', { name: 'Start it again after a crash' }).click();
    await page.getByRole('button', { name: 'Save 2 changes' }).click();
    await page.getByText(/^Saved\. A server that runs takes it/).waitFor();
    await page.getByText(/runs with older settings: Players at once\./).waitFor();
    await page.getByRole('button', { name: 'Restart now' }).click();
    const dialog = page.getByRole('dialog', { name: 'Restart Hearth?' });
    await dialog.getByRole('button', { name: 'Restart now' }).click();
    await eventually('it runs with these settings', async () => {
      const { body } = await callAs(visit, `${browser.url}/api/portal${SETTINGS}`);
      return (
        (body as { meta: { at_next_start: unknown[] | null } }).meta.at_next_start?.length === 0
      );
    });
    await page.getByText(/runs with older settings/).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Reset Players at once to its default' }).click();
    assert.equal(await players.inputValue(), '32');
    await page.getByRole('button', { name: 'Save 1 change' }).click();
    await page.getByText(/runs with older settings/).waitFor();
    await page.goto(`${browser.url}/servers/${GAME.uuid}?tab=activity`);
    await page
      .getByRole('row', { name: /Changed settings.*MAX_PLAYERS/ })
      .first()
      .waitFor();
    assert.deepEqual(
      visit.faults.filter((fault) => !/status of 422\b/.test(fault)),
      [],
    );
    await visit.close();
  });

  it('asks what becomes of the files of a server that is installed again', async () => {
    const visit = await visitSettings('dark');
    const { page } = visit;
    await page.getByRole('textbox', { name: 'Players at once' }).waitFor();
    assert.deepEqual(await seriousFindings(page), []);
    await page.setViewportSize({ width: 360, height: 740 });
    await requireNoSidewaysScroll(page);
    await page.getByRole('button', { name: 'Install again' }).click();
    const dialog = page.getByRole('dialog', { name: 'Install Hearth again?' });
    assert.ok(await dialog.getByRole('radio', { name: 'Keep them' }).isChecked());
    await dialog.getByRole('radio', { name: 'Move them to the bin' }).check();
    await dialog.getByRole('button', { name: 'Install again' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.goto(`${browser.url}/servers/${GAME.uuid}?tab=activity`);
    await page.getByRole('row', { name: /Installed again.*bin/ }).waitFor();
    await page.goto(`${browser.url}/servers/${GAME.uuid}?tab=build`);
    await page.getByText('Built', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByText('Running', { exact: true }).waitFor();
    assert.deepEqual(visit.faults, []);
    await visit.close();
  });

  it('shows what a job wrote that outlived its request', async () => {
    const files = `${browser.url}/api/portal/organisations/acme/x1/game-servers/${GAME.uuid}/files`;
    const visit = await browser.open('light');
    await visit.act(ADA, 'acme');
    const { page } = visit;
    const write = async (path: string): Promise<void> => {
      const { status } = await callAs(visit, `${files}/content?path=${path}`, 'PUT', {
        content: '',
      });
      assert.equal(status, 200);
    };
    await write('first.txt');
    const job = { id: 'long', kind: 'pull', path: 'late.zip', bytes: 0, entries: 0, notes: [] };
    const started = { started_at: new Date().toISOString(), total_bytes: null };
    let state = 'running';
    await page.route('**/files/jobs', (route) =>
      route.fulfill({ json: { data: [{ ...job, ...started, state }] } }),
    );
    await page.goto(`${browser.url}/servers/${GAME.uuid}?tab=files`);
    await page.getByRole('row', { name: /first\.txt/ }).waitFor();
    await page.getByRole('button', { name: 'Cancel the job on late.zip' }).waitFor();
    await write('late.zip');
    state = 'done';
    await page.getByRole('row', { name: /late\.zip/ }).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    assert.deepEqual(visit.faults, []);
    await visit.close();
  });

  for (const scheme of SCHEMES) {
    it(`has no serious finding of axe, no fault and no sideways scroll, ${scheme}`, async () => {
      const visit = await visitList(scheme);
      const { page } = visit;
      const found = await seriousFindings(page);
      for (const tab of TABS) {
        await page.goto(`${browser.url}/servers/${GAME.uuid}?tab=${tab}`);
        await page.getByRole('tabpanel').waitFor();
        await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' });
        for (const finding of await seriousFindings(page)) found.push(`${tab}: ${finding}`);
        await page.setViewportSize({ width: 360, height: 740 });
        await requireNoSidewaysScroll(page);
        await page.setViewportSize({ width: 1280, height: 800 });
      }
      await page.goto(`${browser.url}/servers`);
      await page.setViewportSize({ width: 360, height: 740 });
      await page.getByRole('row').nth(1).waitFor();
      await requireNoSidewaysScroll(page);
      assert.deepEqual(found, []);
      assert.deepEqual(visit.faults, []);
      await visit.close();
    });
  }
});
