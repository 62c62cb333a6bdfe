import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { skipUnless } from '../requirements.ts';
import { createInternet } from '../stack/internet.ts';
import { startStack } from '../stack/stack.ts';
import {
  openDoor,
  type PortalBrowser,
  renewAfterFailure,
  requireNoSidewaysScroll,
  seriousFindings,
  startPortalBrowser,
  type Visit,
} from './browser.ts';
import { ADA, callAs, TWO_ORGANISATIONS } from './people.ts';

const NEEDS = ['root', 'netns', 'nft', 'postgres', 'chromium'] as const;
const FLEET = `${TWO_ORGANISATIONS}responders:
  - { name: blackhole, command: [/usr/local/sbin/blackhole] }
`;
const SECRET = 'a-secret-of-the-carrier';
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

describe('what an operator declares by the form of its kind', { skip: skipUnless(NEEDS) }, () => {
  let browser: PortalBrowser;
  let visit: Visit;
  let page: Page;
  const undo: (() => Promise<void> | void)[] = [];

  before(async () => {
    const internet = createInternet('declared');
    undo.push(() => internet.destroy());
    const door = await openDoor('localhost');
    undo.push(() => door.close());
    const args = ['--enforce', '--public-url', door.url];
    const stack = await startStack(internet, { fleet: FLEET, args });
    undo.push(() => stack.stop());
    browser = await startPortalBrowser(stack, door);
    undo.push(() => browser.stop());
    visit = await browser.open('light');
    ({ page } = visit);
    await visit.act(ADA, 'acme');
    await write('PUT', '', { name: 'Hive', flags: ['firewall_api'] });
    await write('POST', '/holdings', { prefix: '198.19.7.0/24' });
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });
  renewAfterFailure(() => [visit]);

  const hive = (path: string): string =>
    `${browser.url}/api/portal/operator/organisations/hive${path}`;

  async function write(method: string, path: string, body: object): Promise<void> {
    const { status, body: answer } = await callAs(visit, hive(path), method, body);
    assert.ok(status < 300, JSON.stringify(answer));
  }

  async function read(path: string): Promise<unknown> {
    return ((await callAs(visit, hive(path))).body as { readonly data: unknown }).data;
  }

  const card = (name: string): Locator => page.getByRole('region', { name, exact: true });
  const form = (name: string): Locator => page.getByRole('form', { name, exact: true });
  const button = (name: string, within: Page | Locator = page): Locator =>
    within.getByRole('button', { name, exact: true });

  /** Opens the form of a new object. */
  async function open(name: string, label: string): Promise<Locator> {
    await button(label, card(name)).click();
    return form(label);
  }

  /** Everybody can use the page as it is now, also on a phone. */
  async function requireUsable(): Promise<void> {
    for (const size of [PHONE, DESKTOP]) {
      await page.setViewportSize(size);
      await requireNoSidewaysScroll(page);
      assert.deepEqual(await seriousFindings(page), []);
    }
  }

  it('adds a responder, says what is wrong at its field, changes it, and shows no secret', async () => {
    await page.goto(`${browser.url}/operator?tab=protection`);
    const adding = await open('Responders', 'Add a responder');
    const submit = button('Add a responder', adding);
    await adding.getByText('Still missing: Name, Webhook URL.').waitFor();
    assert.equal(await submit.isDisabled(), true);
    await adding.getByLabel('Name').fill('carrier');
    await adding.getByLabel('Webhook URL').fill('ftp://carrier.example');
    await adding.getByLabel('Secret', { exact: true }).fill(SECRET);
    await adding.getByLabel('Only attacks on').fill('203.0.113.0/24, nonsense');
    await requireUsable();
    await submit.click();
    await adding.getByText(/^nonsense: /).waitFor();
    await adding.getByLabel('Only attacks on').fill('203.0.113.0/24');
    await submit.click();
    await adding.getByText('This is no http or https URL.').waitFor();
    await adding.getByLabel('Webhook URL').fill('https://carrier.example/attacks');
    visit.takeFaults();
    await submit.click();
    await adding.waitFor({ state: 'detached' });
    await card('Responders').getByText('Webhook URL: https://carrier.example/attacks').waitFor();

    await button('Change carrier').click();
    const changing = form('Change carrier');
    await changing.getByText('Nothing is changed yet.').waitFor();
    assert.equal(await changing.getByLabel('Secret', { exact: true }).inputValue(), '');
    await changing.getByLabel('Packets per second').fill('100000');
    await button('Save the changes', changing).click();
    await changing.waitFor({ state: 'detached' });
    await card('Responders').getByText('Packets per second: 100000').waitFor();
    assert.ok(!(await page.content()).includes(SECRET));

    const again = await open('Responders', 'Add a responder');
    await again.getByLabel('Name').fill('carrier');
    await again.getByLabel('Webhook URL').fill('https://other.example');
    await again.getByText('There is carrier already.').waitFor();
    assert.equal(await button('Add a responder', again).isDisabled(), true);
    await button('Cancel', again).click();
    assert.deepEqual(visit.faults, []);
  });

  it('says why what the fleet file declares cannot be changed, and removes what it does not', async () => {
    const change = button('Change blackhole');
    await change.hover();
    await page.getByRole('tooltip').getByText('It comes from the fleet file.').waitFor();
    await change.press('Enter');
    assert.equal(await form('Change blackhole').count(), 0);
    await button('Remove carrier').click();
    await button('Remove', page.getByRole('dialog')).click();
    await button('Change carrier').waitFor({ state: 'detached' });
    assert.deepEqual(visit.faults, []);
  });

  it('adds baseline rules by keyboard alone', async () => {
    const add = button('Add baseline rules', card('Baseline'));
    await add.focus();
    await page.keyboard.press('Enter');
    const adding = form('Add baseline rules');
    await adding.waitFor();
    await page.keyboard.type('198.51.100.0/24');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const rule = adding.getByRole('listitem', { name: 'Rules, 1' });
    await rule.waitFor();
    await pick('deny');
    await page.keyboard.press('Tab');
    await pick('udp');
    await page.keyboard.press('Tab');
    await page.keyboard.type('seven');
    await requireUsable();
    await page.keyboard.press('Enter');
    await rule.getByText(/seven/).waitFor();
    visit.takeFaults();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('1900');
    await page.keyboard.press('Enter');
    await card('Baseline').getByText('Rules: deny udp 1900').waitFor();
    assert.deepEqual(visit.faults, []);
  });

  /** Chooses in the list that has the focus, by arrow keys. */
  async function pick(value: string): Promise<void> {
    const option = page.getByRole('option', { name: value, exact: true });
    await page.keyboard.press('ArrowDown');
    await option.waitFor();
    while ((await option.getAttribute('data-combobox-selected')) === null) {
      await page.keyboard.press('ArrowDown');
    }
    await page.keyboard.press('Enter');
    await option.waitFor({ state: 'hidden' });
  }

  async function choose(within: Locator, label: string, value: string): Promise<void> {
    await within.getByRole('combobox', { name: label }).click();
    await page.getByRole('option', { name: value, exact: true }).click();
  }

  it('adds a group, a geo rule and blocked sources of an organisation, and changes them', async () => {
    await page.goto(`${browser.url}/operator/hive`);
    const group = await open('Groups', 'Add a group');
    await group.getByLabel('Name').fill('web');
    await button('Add to rules', group).click();
    const rule = group.getByRole('listitem', { name: 'Rules, 1' });
    await choose(rule, 'Action', 'deny');
    await choose(rule, 'Protocol', 'udp');
    await rule.getByLabel('Destination port').fill('19');
    await button('Add to filters', group).click();
    await requireUsable();
    await button('Take 1 out of filters', group).click();
    await group.getByLabel('Addresses and prefixes').fill('198.19.7.10, 203.0.113.9');
    await button('Add a group', group).click();
    await group.getByText(/^203\.0\.113\.9: .*does not hold/).waitFor();
    visit.takeFaults();
    await group.getByLabel('Addresses and prefixes').fill('198.19.7.10');
    await button('Add a group', group).click();
    await card('Groups').getByText('Rules: deny udp 19').waitFor();

    const geo = await open('Geo rules', 'Add a geo rule');
    await choose(geo, 'Action', 'deny');
    await geo.getByLabel('Countries').fill('DE NL');
    await geo.getByLabel('AS numbers').fill('64500');
    await geo.getByLabel('Addresses and prefixes').fill('198.19.7.0/24');
    await button('Add a geo rule', geo).click();
    await button('Change deny DE NL AS64500').waitFor();

    const blocking = await open('Blocked sources', 'Add blocked sources');
    await blocking.getByLabel('Target').fill('all');
    await blocking
      .getByLabel('Add to sources: several at once')
      .fill('192.0.2.1 192.0.2.2\n198.51.100.0/24');
    await button('Add these', blocking).click();
    const second = blocking.getByRole('listitem', { name: 'Sources, 2' });
    await second.getByLabel('Note').fill('scans');
    await requireUsable();
    await button('Add blocked sources', blocking).click();
    await card('Blocked sources').getByText('192.0.2.2/32 scans').waitFor();

    await button('Change all', card('Blocked sources')).click();
    const changing = form('Change all');
    const before = await blockedSources();
    assert.equal(before.length, 3);
    await button('Take 1 out of sources', changing).click();
    await button('Save the changes', changing).click();
    await changing.waitFor({ state: 'detached' });
    assert.deepEqual(await blockedSources(), before.slice(1));
    assert.equal(before.find(({ source }) => source === '192.0.2.2/32')?.note, 'scans');
    assert.deepEqual(visit.faults, []);
  });

  async function blockedSources() {
    const lists = (await read('/blocked')) as readonly {
      readonly sources: readonly { readonly source: string; readonly note: string }[];
    }[];
    return lists.flatMap(({ sources }) => sources);
  }

  it('changes the default of a prefix, and asks before rules in force are lost', async () => {
    const changing = form('Change 198.19.7.0/24');
    await button('Change 198.19.7.0/24').click();
    await choose(changing, 'Default verdict', 'deny');
    await button('Save the changes', changing).click();
    await changing.waitFor({ state: 'detached' });
    const [holding] = (await read('/holdings')) as [{ readonly default: unknown }];
    assert.equal(holding.default, 'deny');

    await button('Change 198.19.7.0/24').click();
    await changing.getByLabel('Until').fill('2026-01-02T00:00');
    await changing.getByLabel('Since').fill('2026-01-01T00:00');
    await requireUsable();
    await button('Save the changes', changing).click();
    const allow = changing.getByLabel('Do it all the same');
    await allow.waitFor();
    assert.deepEqual(await read('/holdings'), [holding]);
    visit.takeFaults();
    await allow.check();
    await button('Save the changes', changing).click();
    await changing.waitFor({ state: 'detached' });
    await page.getByText('No prefixes or addresses').waitFor();
    assert.deepEqual(visit.faults, []);
  });

  it('is bound to what the form showed, when another has changed it since', async () => {
    await button('Change web', card('Groups')).click();
    const changing = form('Change web');
    await changing.waitFor();
    await write('PUT', '/groups/web', {});
    await button('Take 1 out of rules', changing).click();
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const refused = page.waitForResponse((reply) => reply.status() === 412);
      await button('Save the changes', changing).click();
      await refused;
      await changing.getByRole('alert').waitFor();
    }
    await button('Cancel', changing).click();
    assert.deepEqual(
      visit.faults.filter((fault) => !/status of 412\b/.test(fault)),
      [],
    );
  });
});
