import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { skipUnless } from '../requirements.ts';
import { createInternet } from '../stack/internet.ts';
import { startStack } from '../stack/stack.ts';
import {
  openDoor,
  type PortalBrowser,
  renewAfterFailure,
  seriousFindings,
  startPortalBrowser,
  type Visit,
} from './browser.ts';
import {
  acceptLink,
  ADA,
  PASSWORD,
  readSecret,
  signInAs,
  TWO_ORGANISATIONS,
  typePassword,
} from './people.ts';

const NEEDS = ['root', 'netns', 'nft', 'postgres', 'chromium'] as const;
const DAN = { email: 'dan@acme.example', name: 'Dan', password: PASSWORD };
const CHANGED = { ...DAN, password: 'a newer horse battery' };
const RESET = { ...DAN, password: 'the newest horse battery' };
const SSH_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGfTVY4PBcBCVmdEiHKEYlbLSTaTnvTkqQTVdgKDHpVB dan@workstation';
const SSH_FINGERPRINT = 'SHA256:wYjraCEXVgbpHZsz4/3Ae7D6nnu1uA0YXokieezIcHE';

describe('an account in a browser, and the operator who helps', {
  skip: skipUnless(NEEDS),
}, () => {
  let browser: PortalBrowser;
  let operator: Visit;
  let dan: Visit;
  const undo: (() => Promise<void> | void)[] = [];

  before(async () => {
    const internet = createInternet('accounts');
    undo.push(() => internet.destroy());
    const door = await openDoor('localhost');
    undo.push(() => door.close());
    const args = ['--enforce', '--public-url', door.url];
    const stack = await startStack(internet, { fleet: TWO_ORGANISATIONS, args });
    undo.push(() => stack.stop());
    browser = await startPortalBrowser(stack, door);
    undo.push(() => browser.stop());
    operator = await browser.open('light');
    await operator.act(ADA, 'acme');
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });
  renewAfterFailure(() => [operator, dan]);

  it('changes its password, which ends its other sessions', async () => {
    const { page } = operator;
    await page.goto(`${browser.url}/settings?tab=members`);
    await page.getByRole('button', { name: 'Invite a person' }).click();
    await page.getByRole('textbox', { name: 'Email' }).fill(DAN.email);
    await page.getByRole('button', { name: 'Make the link' }).click();
    dan = await acceptLink(browser, await readSecret(operator), DAN);
    const other = await browser.open('light');
    await other.page.goto(browser.url);
    await signInAs(other.page, DAN);
    await other.page.getByRole('heading', { name: 'Addresses', level: 1 }).waitFor();
    await dan.page.goto(`${browser.url}/account`);
    await dan.page.getByLabel('Current password').fill(DAN.password);
    await dan.page.getByLabel('New password').fill(CHANGED.password);
    await dan.page.getByRole('button', { name: 'Change the password' }).click();
    await dan.page.getByText('Changed. Other sessions have ended.').waitFor();
    await other.page.reload();
    await other.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await other.close();
  });

  it('gets a new password by the link of an operator', async () => {
    const { page } = operator;
    await page.goto(`${browser.url}/operator?tab=people`);
    const row = page.getByRole('row', { name: /dan@acme\.example/ });
    await row.getByRole('button', { name: 'Reset link' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Reset link' }).click();
    const link = await readSecret(operator);
    await page.getByRole('button', { name: `Withdraw the link for ${DAN.email}` }).waitFor();
    await dan.page.goto(link);
    await dan.page.getByRole('heading', { name: 'Choose a new password' }).waitFor();
    await typePassword(dan.page, RESET.password);
    await dan.page.getByRole('button', { name: 'Continue' }).click();
    await dan.page.getByRole('heading', { name: 'Addresses', level: 1 }).waitFor();
    assert.deepEqual(operator.faults, []);
  });

  it('is signed out and kept out while it is disabled', async () => {
    const { page } = operator;
    const row = page.getByRole('row', { name: /dan@acme\.example/ }).first();
    const change = async (name: string): Promise<void> => {
      await row.getByRole('button', { name, exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name, exact: true }).click();
    };
    await change('Disable');
    await row.getByText('Disabled').waitFor();
    await dan.page.reload();
    await signInAs(dan.page, RESET);
    await dan.page.getByRole('alert').waitFor();
    await change('Enable');
    await row.getByText('Disabled').waitFor({ state: 'detached' });
    await signInAs(dan.page, RESET);
    await dan.page.getByRole('heading', { name: 'Addresses', level: 1 }).waitFor();
    assert.deepEqual(operator.faults, []);
  });

  it('adds an SSH key and makes an SFTP password, shown once, and deletes both', async () => {
    const { page } = dan;
    dan.takeFaults();
    await page.goto(`${browser.url}/account`);
    const dialog = page.getByRole('dialog');
    const submit = async (name: string): Promise<void> => {
      await dialog.getByRole('textbox', { name: 'Password' }).fill(RESET.password);
      await dialog.getByRole('button', { name, exact: true }).click();
    };
    await page.getByRole('button', { name: 'Add an SSH key' }).click();
    await dialog.getByLabel('Name').fill('workstation');
    await dialog.getByLabel('Public key').fill('-----BEGIN OPENSSH PRIVATE KEY-----');
    await submit('Add an SSH key');
    await dialog
      .getByText(/is a private key: keep it to yourself/)
      .first()
      .waitFor();
    dan.takeFaults();
    await dialog.getByLabel('Public key').fill(SSH_KEY);
    await submit('Add an SSH key');
    await dialog.waitFor({ state: 'detached' });
    await page.getByText(SSH_FINGERPRINT).waitFor();
    await page.getByRole('button', { name: 'Make a password' }).click();
    await dialog.getByLabel('Name').fill('laptop');
    await submit('Make a password');
    const secret = await readSecret(dan);
    assert.match(secret, /^pcs_[\w-]{24}$/);
    await page.reload();
    await page.getByText('laptop').waitFor();
    assert.ok(!(await page.content()).includes(secret));
    for (const name of ['workstation', 'laptop']) {
      await page.getByRole('button', { name: `Delete ${name}` }).click();
      await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
      await dialog.waitFor({ state: 'detached' });
    }
    await page.getByText('No keys or passwords yet').waitFor();
    assert.deepEqual(await seriousFindings(page), []);
    assert.deepEqual(dan.faults, []);
  });
});
