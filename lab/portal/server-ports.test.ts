import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { skipUnless } from '../requirements.ts';
import { createInternet, HOST } from '../stack/internet.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { eventually } from '../system/stack-fixture.ts';
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
import { GAME, PORTAL_FILES, PORTAL_FLEET, WITH_GAMES } from './fleet.ts';
import { ADA, callAs } from './people.ts';

const NEEDS = ['root', 'netns', 'nft', 'postgres', 'chromium'] as const;
const FLEET = PORTAL_FLEET.replace(
  '  - { name: fra1-games }',
  `  - { name: fra1-games, addresses: [${HOST[4]}], ports: "7800-7810" }`,
).replaceAll('disk: 256 }', 'disk: 256, ports: 3 }');
const NEW = {
  organisation: 'acme',
  service: 503,
  name: 'Short lived',
  node: 'fra1-games',
  egg: 'eggs/hearth.json',
  limits: { memory: 64, cpu: 50, disk: 64 },
};

describe('ports of a server, and servers that are deleted, in a browser', {
  skip: skipUnless(NEEDS),
}, () => {
  let stack: Stack;
  let browser: PortalBrowser;
  /** An operator who acts for the organisation of the server. */
  let ada: Visit;
  const undo: (() => Promise<void> | void)[] = [];

  before(async () => {
    const internet = createInternet('ports');
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
    ada = await browser.open('light');
    await ada.act(ADA, 'acme');
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });
  renewAfterFailure(() => [ada]);

  const operator = (method: string, path: string, body?: object) =>
    callAs(ada, `${browser.url}/api/portal/operator${path}`, method, body);

  it('adds a port, makes it the first one, and removes it again', async () => {
    const { page } = ada;
    await page.goto(`${browser.url}/servers/${GAME.uuid}?tab=ports`);
    const ports = page.getByRole('region', { name: 'Ports of the server' });
    await ports.getByText('1 of 3 ports').waitFor();
    await ports.getByRole('button', { name: 'Add a port' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('voice');
    await page
      .getByRole('radiogroup', { name: 'Protocols' })
      .getByText('UDP', { exact: true })
      .click();
    await page.getByRole('button', { name: 'Add a port' }).last().click();
    const row = ports.getByRole('row', { name: /7800.*voice/ });
    await row.waitFor();
    await row.getByRole('button', { name: 'Make port 7800 the first one' }).click();
    await page.getByRole('button', { name: 'Make it the first one' }).click();
    await ports.getByRole('row', { name: /7800.*First/ }).waitFor();
    await page.getByText(`${HOST[4]}:7800`).first().waitFor();
    const own = ports.getByRole('row', { name: /From the operator/ });
    await own.getByRole('button', { name: /^Make port/ }).click();
    await page.getByRole('button', { name: 'Make it the first one' }).click();
    await ports.getByRole('row', { name: /First.*From the operator/ }).waitFor();
    await row.getByRole('button', { name: 'Remove port 7800' }).click();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await ports.getByText('1 of 3 ports').waitFor();
    assert.deepEqual(ada.faults, []);
  });

  it('restores a deleted server, and purges one for good', async () => {
    const made = await operator('POST', '/game-servers', NEW);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const { uuid } = (made.body as { data: { uuid: string } }).data;
    const isBuilt = async () => {
      const { body } = await operator('GET', `/game-servers/${uuid}`);
      return (body as { data: { build: { state: string } } }).data.build.state === 'built';
    };
    await eventually('it is built', isBuilt);
    assert.equal((await operator('DELETE', `/game-servers/${uuid}`)).status, 200);
    const { page } = ada;
    await page.goto(`${browser.url}/operator?tab=fleet`);
    const item = page.getByRole('listitem').filter({ hasText: 'Short lived' });
    await item.getByText('purged in 7 days').waitFor();
    await page.getByRole('button', { name: 'Restore Short lived' }).click();
    await page.getByRole('button', { name: 'Restore', exact: true }).last().click();
    await item.waitFor({ state: 'detached' });
    await eventually('it is built', isBuilt);
    assert.equal((await operator('DELETE', `/game-servers/${uuid}`)).status, 200);
    await page.goto(`${browser.url}/operator?tab=fleet`);
    await page.getByRole('button', { name: 'Purge Short lived' }).click();
    await page.getByRole('button', { name: 'Purge', exact: true }).last().click();
    // The real node deletes its files, and says so.
    await item.waitFor({ state: 'detached' });
    assert.deepEqual(ada.faults, []);
  });

  for (const scheme of SCHEMES) {
    it(`has no serious finding and no sideways scroll (${scheme})`, async () => {
      const { page } = ada;
      await page.emulateMedia({ colorScheme: scheme });
      await page.goto(`${browser.url}/servers/${GAME.uuid}?tab=ports`);
      await page.getByRole('region', { name: 'Ports of the server' }).waitFor();
      assert.deepEqual(await seriousFindings(page), []);
      await page.setViewportSize({ width: 360, height: 740 });
      await requireNoSidewaysScroll(page);
      await page.setViewportSize({ width: 1280, height: 800 });
      assert.deepEqual(ada.faults, []);
    });
  }
});
