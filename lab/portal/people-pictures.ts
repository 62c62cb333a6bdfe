import type { PortalBrowser, Visit } from './browser.ts';
import { ADA, callAs, PASSWORD, signInAs } from './people.ts';

type Take = (name: string) => Promise<unknown>;

const ORGANISATION = '/organisations/acme';
const DAY_MS = 86_400_000;

/** Makes an operator, keys, invitations, a webhook and an organisation of the portal. */
export async function preparePeople(browser: PortalBrowser): Promise<void> {
  const visit = await browser.open('light');
  await visit.act(ADA, 'acme');
  const call = (method: string, path: string, body?: object) =>
    callAs(visit, `${browser.url}/api/portal${path}`, method, body);
  const expires = new Date(Date.now() + 90 * DAY_MS).toISOString().slice(0, 19);
  await call('POST', `${ORGANISATION}/keys`, {
    name: 'billing panel',
    abilities: ['firewall.read', 'attacks.read'],
    sources: ['198.51.100.7/32'],
    expires_at: `${expires}+00:00`,
  });
  for (const [email, role] of [
    ['grace@acme.example', 'owner'],
    ['linus@acme.example', 'member'],
  ]) {
    await call('POST', `${ORGANISATION}/invitations`, { email, role });
  }
  const made = await call('POST', '/operator/invitations', {
    email: 'bea@acme.example',
    organisation: 'acme',
    role: 'admin',
  });
  await joinAs(browser, (made.body as { data: { url: string } }).data.url, 'Bea Admin');
  const webhook = await call('POST', `${ORGANISATION}/webhooks`, {
    name: 'pager',
    url: 'https://hooks.example.net/portcullis',
    events: ['attack.opened', 'attack.ended', 'server.crashed'],
  });
  const { id } = (webhook.body as { data: { id: number } }).data;
  await call('POST', `${ORGANISATION}/webhooks/${id}/test`);
  await visit.close();
}

async function joinAs(browser: PortalBrowser, link: string, name: string): Promise<void> {
  const { page, close } = await browser.open('light');
  await page.goto(`${browser.url}/link${new URL(link).hash}`);
  await page.getByLabel('Your name').fill(name);
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: 'Addresses', level: 1 }).waitFor();
  await close();
}

/** Settings, the account and the operator's area. */
export async function takePeople(visit: Visit, url: string, take: Take): Promise<void> {
  const { page } = visit;
  await page.goto(url);
  await signInAs(page, ADA);
  await page.getByRole('tab', { name: /^Fleet/, selected: true }).waitFor();
  await callAs(visit, `${url}/api/portal/operator/acting`, 'PUT', { organisation: 'acme' });
  const show = async (path: string, row: string | RegExp): Promise<void> => {
    await page.goto(`${url}${path}`);
    await page.getByRole('row', { name: row }).first().waitFor();
  };
  await show('/settings', /billing/);
  await take('settings-keys');
  await show('/settings?tab=members', /Withdraw/);
  await take('settings-members');
  await page.goto(`${url}/settings?tab=webhooks`);
  await page.getByRole('button', { name: 'Show deliveries' }).click();
  await page.getByRole('row', { name: /webhook\.test .*Failed/ }).waitFor();
  await take('settings-webhooks');
  await show('/account', /This browser/);
  await take('account');
  await page.getByRole('button', { name: 'Set up an app' }).click();
  await page.getByRole('dialog').getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('Code from the app').waitFor();
  await take('account-app');
  await show('/operator', /acme/);
  await take('operator');
  await show('/operator/acme', /203\.0\.113\.0/);
  await take('operator-organisation');
  await show('/operator?tab=people', /bea@/);
  await take('operator-people');
  await page.goto(`${url}/operator?tab=fleet`);
  await page.getByRole('article').first().waitFor();
  await take('operator-fleet');
  await show('/operator?tab=audit', /key\.create/);
  await take('operator-audit');
}
