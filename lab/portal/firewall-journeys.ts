import assert from 'node:assert/strict';
import type { Route } from 'playwright-core';
import { SERVER } from '../stack/internet.ts';
import {
  type PortalBrowser,
  seriousFindings,
  takeBack,
  type Visit,
  waitForFocus,
} from './browser.ts';

const IP = SERVER[4];
/** Text that a browser would run if it became markup. */
const HOSTILE = `<img src=x onerror="document.title='owned'">`;

interface Context {
  readonly browser: PortalBrowser;
  /** A person who acts for the organisation, in one visit for all journeys. */
  person(): Promise<Visit>;
}

type Journey = (context: Context) => Promise<void>;

/** Groups, geo rules, notes and history, which need a person: subtests of one stack, in this order. */
export const FIREWALL_JOURNEYS: Readonly<Record<string, Journey>> = {
  'tells holders of an API key that groups need a person': async ({ browser }) => {
    const visit = await browser.open('light');
    await visit.signIn();
    const { page } = visit;
    assert.equal(await page.getByRole('link', { name: 'Groups', exact: true }).count(), 0);
    await page.goto(`${browser.url}/groups`);
    await page.getByRole('heading', { name: 'Not available with an API key' }).waitFor();
    await finish(visit, 'groups by a key');
    await visit.close();
  },

  'blocks a source before any rule is read, explains it, and unblocks it': async ({
    browser,
    person,
  }) => {
    const visit = await person();
    const { page } = visit;
    await page.goto(`${browser.url}/addresses/${IP}`);
    await page.getByRole('button', { name: 'Block sources' }).click();
    const form = page.getByRole('form', { name: 'Block sources' });
    await form.getByLabel('Sources').fill('198.51.100.77');
    await form.getByLabel('Note').fill('scans');
    await finish(visit, 'the form of a blocked source');
    await form.getByRole('button', { name: 'Block', exact: true }).click();
    const row = page.getByRole('row', { name: /198\.51\.100\.77.*This address.*scans/ });
    await row.waitFor();
    await finish(visit, 'a blocked source');
    await page.goto(`${browser.url}/addresses/${IP}?tab=explain`);
    await page.getByLabel('From').fill('198.51.100.77');
    await page.getByLabel('To port').fill('80');
    await page.getByRole('button', { name: 'Explain', exact: true }).click();
    await page.getByRole('heading', { name: 'It is dropped' }).waitFor();
    const decided = await page.locator('[aria-current=step]').innerText();
    assert.equal(decided, 'Blocked sources\ndecided here');
    await page.goto(`${browser.url}/addresses/${IP}`);
    await row.getByRole('button', { name: 'Unblock 198.51.100.77' }).click();
    await row.waitFor({ state: 'detached' });
  },

  'sets what a filter lets through, says what is wrong with it, and takes it back': async ({
    browser,
    person,
  }) => {
    const visit = await person();
    const { page } = visit;
    await page.goto(`${browser.url}/addresses/${IP}?tab=filters`);
    await page.getByRole('button', { name: 'Add a filter' }).click();
    const adding = page.getByRole('dialog', { name: 'Add a filter' });
    await adding.getByRole('combobox', { name: 'Filter' }).click();
    await page.getByRole('option', { name: /^Source engine/ }).click();
    await adding.getByLabel('Ports').fill('28005');
    await adding.getByRole('button', { name: 'Add a filter' }).click();
    const row = (settings: RegExp) =>
      page.getByRole('row', { name: /Source engine.*28005.*Live/ }).filter({ hasText: settings });
    await row(/as the filter has it/)
      .getByRole('button', { name: /^Settings of/ })
      .click();
    const dialog = page.getByRole('dialog', { name: 'Source engine on port 28005' });
    await dialog.getByLabel('New players a second').fill('50');
    await dialog.getByLabel('Source ports').fill('1024-99999');
    await dialog.getByText(/ports are numbers from 1 to 65535/).waitFor();
    await finish(visit, 'settings that are wrong');
    await dialog.getByLabel('Source ports').fill('1024-65535');
    await dialog.getByRole('button', { name: 'Save the settings' }).click();
    await row(/50 new a second, from ports 1024-65535/).waitFor();
    await takeBack(page, /Settings saved/);
    await row(/as the filter has it/).waitFor();
    await finish(visit, 'a filter with settings');
    await page.getByRole('button', { name: 'Remove Source engine from port 28005' }).click();
    await row(/./).waitFor({ state: 'detached' });
  },

  'names the conflicts of a group before they happen, and what it changes where': async ({
    browser,
    person,
  }) => {
    const visit = await person();
    const { page } = visit;
    await page.getByRole('link', { name: 'Groups', exact: true }).click();
    await page.getByRole('link', { name: 'no-amplification' }).click();
    await page.getByText(/fleet file owns this group/).waitFor();
    await finish(visit, 'a group of the fleet file');

    await page.goto(`${browser.url}/groups`);
    await page.getByRole('button', { name: 'New group' }).click();
    await page.getByLabel('Name').fill(`web ${HOSTILE}`);
    const targets = page.getByRole('combobox', { name: 'Addresses and prefixes' });
    await targets.fill(`${IP},203.0.113.40,`);
    await addGroupRule(visit, 'UDP', '1900');
    const preview = page.getByRole('region', { name: 'What will change' });
    await preview.getByText(/no-amplification has the rule "deny udp 1900" too/).waitFor();
    const create = preview.getByRole('button', { name: 'Create the group' });
    assert.equal(await create.getAttribute('aria-disabled'), 'true');
    await finish(visit, 'a conflict');

    await page.getByRole('button', { name: 'Remove deny udp 1900' }).click();
    await addGroupRule(visit, 'TCP', '9100');
    await preview.getByText('deny tcp 9100').nth(1).waitFor();
    assert.equal(await preview.getByText('Added here').count(), 2);
    await finish(visit, 'a preview');
    await create.click();
    await page.getByText('Live: every edge in service has it.').waitFor();
    await page.getByRole('heading', { name: `web ${HOSTILE}`, level: 1 }).waitFor();
  },

  'shows a group on its addresses, takes it off one, deletes it, and takes that back': async ({
    browser,
    person,
  }) => {
    const visit = await person();
    const { page } = visit;
    await page.goto(`${browser.url}/addresses/${IP}`);
    const row = page.getByRole('row', { name: /Deny TCP 9100.*web.*Live/ });
    await row.waitFor();
    assert.equal(await row.getByRole('button', { name: /^Delete/ }).count(), 0);
    await row.getByRole('link').click();
    const preview = page.getByRole('region', { name: 'What will change' });
    await page.getByRole('combobox', { name: 'Addresses and prefixes' }).press('Backspace');
    await preview.getByText('Removed from here').waitFor();
    const removed = await preview.getByRole('listitem').locator('.mono').first().innerText();
    const saving = Promise.withResolvers<void>();
    const answer = async (route: Route): Promise<void> => {
      await saving.promise;
      const response = await route.fetch();
      // The event of the write has the page read the groups before its answer is there.
      await page.waitForResponse((reply) => reply.url().endsWith('/groups'));
      await route.fulfill({ response });
    };
    await page.route('**/groups/*', answer, { times: 1 });
    await preview.getByRole('button', { name: 'Save' }).click();
    const name = page.getByRole('textbox', { name: 'Name', exact: true });
    await name.fill('edited while it is saved');
    saving.resolve();
    await takeBack(page, /Group web .* saved/);
    assert.equal(await name.inputValue(), 'edited while it is saved');
    await preview.getByRole('button', { name: 'Discard' }).click();
    await page.unrouteAll({ behavior: 'wait' });
    await preview.getByText('Nothing is changed yet.').waitFor();
    assert.equal(await name.inputValue(), `web ${HOSTILE}`);
    await page.getByText(removed, { exact: true }).waitFor();
    const remove = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByRole('button', { name: 'Delete the group' }).click();
      await page.getByRole('heading', { name: 'Groups', level: 1 }).waitFor();
    };
    await remove();
    await takeBack(page, /Group web .* deleted/);
    await page.getByRole('link', { name: /^web/ }).click();
    await remove();
    await page.getByRole('link', { name: /^web/ }).waitFor({ state: 'detached' });
    await finish(visit, 'after a group');
  },

  'keeps notes and tags with a rule, also through delete and undo, and finds it by them': async ({
    browser,
    person,
  }) => {
    const visit = await person();
    const { page } = visit;
    await page.goto(`${browser.url}/addresses/${IP}`);
    await page.getByRole('button', { name: 'Add a rule' }).click();
    const form = page.getByRole('form', { name: 'Add a rule' });
    await form.getByLabel('Port').fill('9200');
    await form.getByLabel('Note').fill(`lobby ${HOSTILE}`);
    await form.getByLabel('Tags').fill(HOSTILE.slice(0, 40));
    await form.getByLabel('Tags').press('Enter');
    await form.getByRole('button', { name: 'Add rule' }).click();
    const row = page.getByRole('row', { name: /Allow TCP 9200.*lobby/ });
    await row.waitFor();
    await row.getByRole('button', { name: /^Edit the note/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Note and tags' });
    await waitForFocus(dialog);
    await dialog.getByLabel('Tags').fill('events');
    await dialog.getByLabel('Tags').press('Enter');
    await finish(visit, 'the note of a rule');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row.getByText('events', { exact: true }).waitFor();
    await row.getByRole('button', { name: /^Delete/ }).click();
    await takeBack(page, /1 rule deleted/);
    await row.getByText('events', { exact: true }).waitFor();
    await page.getByRole('searchbox').fill('events lobby');
    await page.getByRole('row', { name: /Allow TCP 9200/ }).waitFor();
    await finish(visit, 'notes');
    await page.goto(`${browser.url}/addresses`);
    await page.getByRole('row', { name: /events/ }).waitFor();
    await page.getByRole('searchbox').fill('LOBBY <img');
    await page.getByText(/^1 of \d+ addresses$/).waitFor();
    await page.getByRole('link', { name: IP, exact: true }).waitFor();
    await finish(visit, 'addresses with tags');
  },

  'shows who changed what, takes a change back, and goes back to an earlier state': async ({
    browser,
    person,
  }) => {
    const visit = await person();
    const { page } = visit;
    await page.goto(`${browser.url}/addresses/${IP}?tab=history`);
    const newest = page.getByRole('listitem').filter({ hasText: 'Change undone' }).first();
    await newest.getByText('allow tcp 9200').waitFor();
    await newest.getByText(/@example\.net \(operator\)/).waitFor();
    await finish(visit, 'history');
    const undo = newest.getByRole('button', { name: /^Undo/ });
    const generation = /\d+/.exec((await undo.getAttribute('aria-label')) ?? '')?.[0];
    await undo.click();
    await page.getByText(`Change ${generation} is undone`, { exact: true }).waitFor();
    await page
      .getByRole('button', { name: `Restore the state after change ${generation}`, exact: true })
      .click();
    const dialog = page.getByRole('dialog', { name: 'Restore this state?' });
    await dialog.getByText('allow tcp 9200').waitFor();
    await dialog.getByRole('button', { name: 'Restore' }).click();
    await page.getByText(/^Restored to the state after change/).waitFor();
    await page.getByRole('tab', { name: /^Rules/ }).click();
    await page.getByRole('row', { name: /Allow TCP 9200.*events.*Live/ }).waitFor();
    await finish(visit, 'after going back');
    await page.getByRole('button', { name: 'Default: accept' }).click();
    const question = page.getByRole('dialog', { name: 'Deny what no rule matches?' });
    await question.getByText(/default of deny would/).waitFor();
    await finish(visit, 'the preview of a default of deny');
    await question.getByRole('button', { name: 'Cancel' }).click();
  },

  'drops packets by country, chosen on the map or in the list, and by network': async ({
    browser,
    person,
  }) => {
    const visit = await person();
    const { page } = visit;
    await page.goto(`${browser.url}/addresses/${IP}?tab=geo`);
    await page.getByRole('button', { name: 'Add a geo rule' }).click();
    const form = page.getByRole('form', { name: 'Geo rule' });
    // The middle of France and French Guiana is the sea.
    await form.locator('path[data-code=FR]').dispatchEvent('click');
    await form.getByLabel('Search: a country or its code').fill('germany');
    await form.getByRole('checkbox', { name: 'DE Germany' }).check();
    await form.getByText('2 chosen').waitFor();
    await form.getByLabel('Networks (ASN)').fill('AS64999');
    await form.getByLabel('Networks (ASN)').press('Enter');
    await finish(visit, 'the form of a geo rule');
    await form.getByRole('button', { name: 'Add the rule' }).click();
    const rule = page.getByRole('listitem').filter({ hasText: 'Germany, France, AS64999' });
    await rule.getByText('on this address').waitFor();
    // The first geo rule has the edge fetch the data of its countries.
    await page
      .getByText('Live: every edge in service has it.')
      .first()
      .waitFor({ timeout: 240_000 });
    await finish(visit, 'a geo rule');
    await rule.getByRole('button', { name: /^Delete/ }).click();
    await page.getByRole('button', { name: 'Delete it' }).click();
    await rule.waitFor({ state: 'detached' });
  },
};

/** Ends a journey: nothing serious for axe, no fault, and no text that became markup. */
async function finish({ page, faults }: Visit, where: string): Promise<void> {
  assert.deepEqual(await seriousFindings(page), [], where);
  assert.deepEqual(faults, [], where);
  assert.equal(await page.locator('img[src=x]').count(), 0, where);
  assert.doesNotMatch(await page.title(), /^owned/);
}

async function addGroupRule({ page }: Visit, protocol: string, port: string): Promise<void> {
  const rules = page.getByRole('region', { name: 'Rules' }).first();
  await rules.getByRole('button', { name: 'Add a rule' }).click();
  const form = page.getByRole('form', { name: 'Add a rule' });
  await form.getByText('Deny', { exact: true }).click();
  await form.getByRole('combobox', { name: 'Protocol' }).click();
  await page.getByRole('option', { name: protocol, exact: true }).click();
  await form.getByLabel('Port').fill(port);
  await form.getByRole('button', { name: 'Add rule' }).click();
}
