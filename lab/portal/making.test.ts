import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { skipUnless } from '../requirements.ts';
import { createInternet, HOST } from '../stack/internet.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import {
  openDoor,
  type PortalBrowser,
  renewAfterFailure,
  requireNoSidewaysScroll,
  SCHEMES,
  seriousFindings,
  startPortalBrowser,
  type Visit,
} from './browser.ts';
import { PORTAL_FILES, PORTAL_FLEET, WITH_GAMES } from './fleet.ts';
import { acceptLink, ADA, callAs, PASSWORD } from './people.ts';

const NEEDS = ['root', 'netns', 'nft', 'postgres', 'chromium'] as const;
const QUOTA =
  'own_servers: 2, own_servers_memory: 2048, own_servers_cpu: 300, own_servers_disk: 4096';
/** A quota for acme, and ports that servers are given. */
const FLEET = PORTAL_FLEET.replace(
  'requests_per_minute: 1000000',
  `requests_per_minute: 1000000, ${QUOTA}`,
)
  .replace(
    '{ name: fra1-games }',
    `{ name: fra1-games, addresses: [${HOST[4]}], ports: "7800-7810" }`,
  )
  .replace('    services:\n', '    services:\n      - { id: 590, name: creative }\n');
/** Longer than between two readings of a server by its page. */
const READ_AGAIN_MS = 4_000;
const OWNER = { email: 'owner@example.net', name: 'Olga', password: PASSWORD };
const EGG = {
  meta: { version: 'PTDL_v2' },
  name: 'Night club',
  author: 'club@example.net',
  description: 'A place that an operator added.',
  docker_images: { Club: '~portcullis/hearth' },
  startup: 'hearth',
  config: { files: '{}', startup: '{"done": "open"}', logs: '{}', stop: '^C' },
  scripts: { installation: { script: '', container: '~portcullis/hearth', entrypoint: 'sh' } },
  variables: [],
};

describe('making servers in a browser', { skip: skipUnless(NEEDS) }, () => {
  let stack: Stack;
  let browser: PortalBrowser;
  let operator: Visit;
  let owner: Visit;
  const undo: (() => Promise<void> | void)[] = [];

  before(async () => {
    const internet = createInternet('making');
    undo.push(() => internet.destroy());
    const door = await openDoor('localhost');
    undo.push(() => door.close());
    stack = await startStack(internet, {
      fleet: FLEET,
      files: PORTAL_FILES,
      args: [...WITH_GAMES, '--public-url', door.url],
    });
    undo.push(() => stack.stop());
    browser = await startPortalBrowser(stack, door);
    undo.push(() => browser.stop());
    operator = await browser.open('light');
    await operator.act(ADA, 'acme');
    const invited = await callAs(
      operator,
      `${browser.url}/api/portal/organisations/acme/invitations`,
      'POST',
      { email: OWNER.email, role: 'owner' },
    );
    const { data } = invited.body as { data: { url: string } };
    owner = await acceptLink(browser, data.url, OWNER);
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });
  renewAfterFailure(() => [operator, owner]);

  it('lets an owner find a game in the library and make a server of it, until players can connect', async () => {
    const { page } = owner;
    await page.getByRole('link', { name: 'Library' }).click();
    await page.getByLabel('Search: game, description, author').fill('hearth');
    await page.getByText('1 of 7 games').waitFor();
    await page.getByRole('button', { name: 'New server: Hearth' }).click();
    await page.getByRole('heading', { name: 'New server', level: 1 }).waitFor();
    await page.getByLabel('Name', { exact: false }).first().fill('Campfire');
    await page.getByLabel('Memory, MiB').fill('256');
    await page.getByLabel('Disk, MiB').fill('512');
    await page.getByLabel('fra1-games').waitFor();
    await page.getByText('It fits.').waitFor();
    await page.getByRole('combobox', { name: 'Service' }).click();
    await page.getByRole('option', { name: 'creative (590)' }).click();
    const made = page.waitForResponse(
      (response) => response.request().method() === 'POST' && response.status() === 201,
    );
    await page.getByRole('button', { name: 'Make the server' }).click();
    const { data } = (await (await made).json()) as { data: { service_id: number } };
    assert.equal(data.service_id, 590);
    await page.getByRole('heading', { name: 'Campfire is ready' }).waitFor();
    await page.getByText(`${HOST[4]}:7800`).waitFor();
    await page.getByRole('button', { name: 'Start it' }).click();
    await page.getByRole('button', { name: 'Open the server' }).click();
    await page.getByText('Running', { exact: true }).waitFor();
    assert.deepEqual(owner.faults, []);
  });

  it('shows what is left of the quota, and takes no more than that', async () => {
    const { page } = owner;
    await page.goto(`${browser.url}/servers`);
    await page.getByRole('button', { name: 'New server' }).click();
    const facts = page.locator('.fact', { hasText: 'Servers' });
    await facts.getByText('of 2').waitFor();
    await page.getByRole('radio', { name: /Hearth/ }).check();
    await page.getByText('1.8 GiB of 2.0 GiB left in your quota').waitFor();
    await page.getByLabel('Name', { exact: false }).first().fill('Bonfire');
    await page.getByLabel('Memory, MiB').fill('4000');
    await page.getByLabel('Disk, MiB').click();
    assert.equal(await page.getByLabel('Memory, MiB').inputValue(), '1,792');
    assert.deepEqual(owner.faults, []);
  });

  it('deletes what an owner made once its name is typed, and not what the operator made', async () => {
    const { page } = owner;
    await page.goto(`${browser.url}/servers`);
    await page.getByRole('link', { name: 'Old arena' }).click();
    await page.getByRole('tab', { name: 'Build' }).click();
    await page.getByRole('heading', { name: 'Build', exact: false }).first().waitFor();
    assert.equal(await page.getByRole('button', { name: 'Delete' }).count(), 0);
    await page.goto(`${browser.url}/servers`);
    await page.getByRole('link', { name: 'Campfire' }).click();
    await page.getByRole('tab', { name: 'Build' }).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete Campfire?' });
    assert.equal(await dialog.getByRole('button', { name: 'Delete' }).isDisabled(), true);
    await dialog.getByLabel('Type Campfire to confirm').fill('Campfire');
    // Meanwhile the page asks for nothing of the server, which would be an error.
    await page.route('**/api/**', async (route) => {
      if (route.request().method() !== 'DELETE') return route.fallback();
      const response = await route.fetch();
      await delay(READ_AGAIN_MS);
      return route.fulfill({ response });
    });
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('link', { name: 'Old arena' }).waitFor();
    await page.getByRole('link', { name: 'Campfire' }).waitFor({ state: 'detached' });
    await page.unrouteAll();
    assert.deepEqual(owner.faults, []);
  });

  it('lets an operator add an egg by file, see what a newer one changes, and take it', async () => {
    const { page } = operator;
    await page.goto(`${browser.url}/library`);
    await page.getByRole('button', { name: 'Add an egg' }).click();
    const choose = (egg: object) =>
      page.locator('input[type=file]').setInputFiles({
        name: 'egg.json',
        mimeType: 'application/json',
        buffer: Buffer.from(JSON.stringify(egg)),
      });
    await choose(EGG);
    await page.getByText('Read: Night club').waitFor();
    assert.equal(await page.getByLabel('Name in the library').inputValue(), 'night-club');
    await page.getByRole('button', { name: 'Add it' }).click();
    await page.getByRole('button', { name: 'Update Night club' }).click();
    await choose({ ...EGG, startup: 'hearth --late' });
    await page.getByRole('list', { name: 'Startup' }).getByText('hearth --late').waitFor();
    await page.getByRole('button', { name: 'Take it' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Remove Night club' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    const gone = page.getByRole('heading', { name: 'Night club', exact: true });
    await gone.waitFor({ state: 'detached' });
    assert.deepEqual(operator.faults, []);
  });

  for (const scheme of SCHEMES) {
    it(`has no serious finding of axe and fits a phone, ${scheme}`, async () => {
      const { page } = owner;
      await page.emulateMedia({ colorScheme: scheme });
      for (const path of ['/library', '/servers/new?egg=eggs/hearth.json']) {
        await page.goto(`${browser.url}${path}`);
        await page.getByText('Hearth').first().waitFor();
        await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' });
        assert.deepEqual(await seriousFindings(page), [], path);
        await page.setViewportSize({ width: 360, height: 740 });
        await requireNoSidewaysScroll(page);
        await page.setViewportSize({ width: 1280, height: 800 });
      }
      assert.deepEqual(owner.faults, []);
    });
  }
});
