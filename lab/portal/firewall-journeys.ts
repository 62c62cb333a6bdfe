import assert from 'node:assert/strict';
import { SERVER } from '../stack/internet.ts';
import { type PortalBrowser, seriousFindings, type Visit } from './browser.ts';

const IP = SERVER[4];
/** What a browser would run if a text of a person became markup. */
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
    await page.getByRole('heading', { name: 'Not with an API key' }).waitFor();
    await finish(visit, 'groups by a key');
    await visit.close();
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

    await page.getByRole('button', { name: 'Take out Deny UDP port 1900' }).click();
    await addGroupRule(visit, 'TCP', '9100');
    await preview.getByText('deny tcp 9100').nth(1).waitFor();
    assert.equal(await preview.getByText('New here').count(), 2);
    await finish(visit, 'a preview');
    await create.click();
    await page.getByText('Live: every edge in service has it.').waitFor();
    await page.getByRole('heading', { name: `web ${HOSTILE}`, level: 1 }).waitFor();
  },

  'shows a group on its addresses, takes it off one, and deletes it': async ({
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
    await preview.getByText('Goes from here').waitFor();
    await preview.getByRole('button', { name: 'Save' }).click();
    await preview.getByText('Nothing is changed yet.').waitFor();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: 'Delete the group' }).click();
    await page.getByRole('heading', { name: 'Groups', level: 1 }).waitFor();
    await page.getByRole('link', { name: /^web/ }).waitFor({ state: 'detached' });
    await finish(visit, 'after a group');
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
