import assert from 'node:assert/strict';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { skipUnless } from '../requirements.ts';
import { ApiClient } from '../stack/api-client.ts';
import { createInternet, type Internet } from '../stack/internet.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import {
  openDoor,
  type PortalBrowser,
  SCHEMES,
  renewAfterFailure,
  requireNoSidewaysScroll,
  seriousFindings,
  startPortalBrowser,
  type Visit,
} from './browser.ts';
import {
  acceptLink,
  ADA,
  addAuthenticator,
  appCode,
  callAs,
  FOREIGN,
  OWN,
  PASSWORD,
  readSecret,
  RECEIVER,
  signInAs,
  TWO_ORGANISATIONS,
} from './people.ts';

const NEEDS = ['root', 'netns', 'nft', 'postgres', 'chromium'] as const;
const PAGES = [
  '/settings?tab=keys',
  '/settings?tab=members',
  '/settings?tab=webhooks',
  '/settings?tab=organisation',
  '/account',
  '/operator?tab=organisations',
  '/operator?tab=people',
  '/operator?tab=fleet',
  '/operator?tab=protection',
  '/operator?tab=audit',
  '/operator/acme',
] as const;
/** Markup that a browser would run if a name became markup; the policy of the page would report it as a fault. */
const HOSTILE = `<img src=x onerror="document.title='owned'">`;

describe('people, settings and operators in a browser', { skip: skipUnless(NEEDS) }, () => {
  let internet: Internet;
  let stack: Stack;
  let browser: PortalBrowser;
  /** An operator who acts for acme, in one visit for the tests that need nothing else. */
  let ada: Visit;
  const undo: (() => Promise<void> | void)[] = [];

  before(async () => {
    internet = createInternet('people');
    undo.push(() => internet.destroy());
    const door = await openDoor('localhost');
    undo.push(() => door.close());
    stack = await startStack(internet, {
      fleet: TWO_ORGANISATIONS,
      args: ['--enforce', '--public-url', door.url, '--webhook-networks', '127.0.0.0/8'],
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

  const api = (path: string): string => `${browser.url}/api/portal${path}`;

  async function invite(email: string, organisation: string, role: string): Promise<string> {
    const body = { email, organisation, role };
    const made = await callAs(ada, api('/operator/invitations'), 'POST', body);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return (made.body as { data: { url: string } }).data.url;
  }

  it('signs in with a code of an app, with a recovery code, and with a passkey', async () => {
    const person = { email: 'eve@example.net', name: 'Eve', password: PASSWORD };
    const visit = await acceptLink(browser, await invite(person.email, 'acme', 'member'), person);
    const { page } = visit;
    await addAuthenticator(page);
    await page.goto(`${browser.url}/account`);
    await page.getByRole('button', { name: 'Set up an app' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('img', { name: /QR code/ }).waitFor();
    const secret = await page.getByLabel('Secret', { exact: true }).innerText();
    await page.getByLabel('Code from the app').fill(appCode(secret));
    await page.getByRole('button', { name: 'Turn it on' }).click();
    const [recovery = ''] = (await readSecret(visit)).split('\n');
    await page.getByText('10 recovery codes left').waitFor();

    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await dialog.getByRole('textbox', { name: 'Name' }).fill('laptop');
    await dialog.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Remove laptop' }).waitFor();

    const signOut = () => page.getByRole('button', { name: 'Sign out' }).click();
    const signedIn = () => page.getByRole('link', { name: 'Account' }).waitFor();
    // A code is accepted once, and that of this step was.
    for (const code of [appCode(secret, 1), recovery]) {
      await signOut();
      await signInAs(page, person);
      await page.getByRole('textbox', { name: 'Code' }).fill(code);
      await page.getByRole('button', { name: 'Continue' }).click();
      await signedIn();
    }
    // Who signs in while the answer to signing out is on its way stays signed in.
    await page.route('**/api/portal/session', async (route) => {
      const response = await route.fetch();
      if (route.request().method() === 'DELETE') await page.waitForTimeout(500);
      await route.fulfill({ response });
    });
    await signOut();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await signedIn();
    await page.unrouteAll({ behavior: 'wait' });
    await page.goto(`${browser.url}/account`);
    await page.getByText('9 recovery codes left').waitFor();

    await page.getByRole('button', { name: 'New recovery codes' }).click();
    await dialog.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await dialog.getByRole('button', { name: 'New recovery codes' }).click();
    assert.equal((await readSecret(visit)).split('\n').length, 10);
    await page.getByText('10 recovery codes left').waitFor();
    await page.getByRole('button', { name: 'Remove laptop' }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('No passkeys yet').waitFor();
    await page.getByLabel('Your name').fill(HOSTILE);
    await page.getByRole('button', { name: 'Save the name' }).click();
    await page.getByText('Saved.').waitFor();
    assert.deepEqual(visit.faults, []);
    const named = page.getByLabel('Your name');
    await named.fill('Somebody else');
    await page.getByRole('button', { name: 'Save the name' }).click();
    await page.getByText('Saved.').waitFor();
    const written = page.waitForResponse((reply) => reply.request().method() !== 'GET');
    await page.getByRole('status').getByRole('button', { name: 'Undo' }).click();
    await written;
    await page.reload();
    await named.waitFor();
    assert.equal(await named.inputValue(), HOSTILE);
    await visit.close();
  });

  it('ends a session from another browser', async () => {
    const other = await browser.open('light');
    await other.page.goto(browser.url);
    await signInAs(other.page, ADA);
    await other.page.getByRole('tab', { name: /^Fleet/, selected: true }).waitFor();
    const { page } = ada;
    await page.goto(`${browser.url}/account`);
    await page.getByRole('button', { name: 'End', exact: true }).first().click();
    await page.getByRole('button', { name: 'End', exact: true }).waitFor({ state: 'detached' });
    assert.equal((await callAs(other, api('/session'))).status, 401);
    await other.close();
  });

  for (const role of ['read-only', 'member', 'admin', 'owner'] as const) {
    it(`shows the role ${role} what it may see, and nothing of another organisation`, async () => {
      const email = `${role}@acme.example`;
      const visit = await acceptLink(browser, await invite(email, 'acme', role), {
        name: `The ${role}`,
        password: PASSWORD,
      });
      const { page } = visit;
      await page.getByRole('link', { name: OWN, exact: true }).waitFor();
      assert.equal(await page.getByText(FOREIGN).count(), 0);
      assert.equal(await page.getByRole('link', { name: 'Operator' }).count(), 0);
      await page.goto(`${browser.url}/settings`);
      const isAdmin = role === 'admin' || role === 'owner';
      if (isAdmin) await page.getByRole('row', { name: /^lab/ }).waitFor();
      else await page.getByText(/needs the role admin/).waitFor();
      await page.goto(`${browser.url}/operator`);
      await page.getByText('Only operators of this installation can see this.').waitFor();
      assert.deepEqual(visit.faults, []);

      const rule = { action: 'allow', protocol: 'tcp', destination_port: '0' };
      const expected: readonly (readonly [string, string, number])[] = [
        ['GET', '/organisations/acme/keys', isAdmin ? 200 : 403],
        ['GET', '/organisations/acme/webhooks', isAdmin ? 200 : 403],
        ['GET', '/operator/organisations', 403],
        ['GET', '/operator/audit', 403],
        [
          'POST',
          `/organisations/acme/v1/firewall/ips/${OWN}/rules`,
          role === 'read-only' ? 403 : 422,
        ],
        [
          'POST',
          `/organisations/acme/v1/firewall/ips/${FOREIGN}/rules`,
          role === 'read-only' ? 403 : 404,
        ],
        ['GET', '/organisations/blocks/keys', 404],
        ['GET', '/organisations/blocks/members', 404],
        ['GET', `/organisations/blocks/v1/firewall/ips/${FOREIGN}`, 404],
        ['GET', '/organisations/blocks/x1/events', 404],
      ];
      for (const [method, path, status] of expected) {
        const reply = await callAs(visit, api(path), method, method === 'POST' ? rule : undefined);
        assert.equal(reply.status, status, `${method} ${path}: ${JSON.stringify(reply.body)}`);
      }
      await visit.close();
    });
  }

  it('shows the owner of another organisation its own, also by guessed paths and ids', async () => {
    const link = await invite('bob@blocks.example', 'blocks', 'owner');
    const visit = await acceptLink(browser, link, { name: 'Bob', password: PASSWORD });
    const { page } = visit;
    await page.getByRole('link', { name: FOREIGN, exact: true }).waitFor();
    assert.equal(await page.getByText(OWN, { exact: true }).count(), 0);
    const keys = await callAs(ada, api('/organisations/acme/keys'));
    const [first] = (keys.body as { data: { id: number }[] }).data;
    const guessed = await callAs(visit, api(`/organisations/blocks/keys/${first?.id}`), 'DELETE');
    assert.equal(guessed.status, 404);
    for (const path of ['keys', 'members', 'groups', 'webhooks', 'x1/events']) {
      assert.equal((await callAs(visit, api(`/organisations/acme/${path}`))).status, 404, path);
    }
    assert.deepEqual(visit.faults, []);
    await page.goto(`${browser.url}/addresses/${OWN}`);
    await page.getByRole('alert').waitFor();
    await visit.close();
  });

  it('shows a new key once, which works until it is revoked', async () => {
    const { page } = ada;
    await page.goto(`${browser.url}/settings`);
    await page.getByRole('button', { name: 'Create a key' }).click();
    const form = page.getByRole('form', { name: 'Create a key' });
    await form.getByLabel('Name').fill('billing');
    await form.getByLabel('Read firewall').check();
    await form.getByLabel('Can be used only from').fill('everywhere');
    await form.getByText(/^everywhere: /).waitFor();
    await form.getByLabel('Can be used only from').fill('127.0.0.0/8');
    await form.getByRole('button', { name: 'Create a key' }).click();
    const secret = await readSecret(ada);
    const caller = new ApiClient(join(dirname(stack.fleetFile), 'api.sock'), secret);
    const read = async (): Promise<number> =>
      (await caller.call('GET', `/api/v1/firewall/ips/${OWN}`)).status;
    assert.equal(await read(), 200);
    await page.getByRole('row', { name: /billing .*Active/ }).waitFor();
    assert.equal(await page.getByText(secret).count(), 0);
    await page.getByRole('button', { name: 'Revoke billing' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('row', { name: /billing .*Revoked/ }).waitFor();
    // Replicas learn of it within two seconds.
    const deadline = Date.now() + 60_000;
    while (Date.now() < deadline && (await read()) !== 401) await page.waitForTimeout(200);
    assert.equal(await read(), 401);
    assert.deepEqual(ada.faults, []);
  });

  it('invites a member by a link that is shown once, changes its role and removes it', async () => {
    const { page } = ada;
    await page.goto(`${browser.url}/settings?tab=members`);
    await page.getByText(HOSTILE).waitFor();
    await page.getByRole('button', { name: 'Invite a person' }).click();
    await page.getByRole('textbox', { name: 'Email' }).fill('carol@example.net');
    await page.getByRole('button', { name: 'Make the link' }).click();
    const link = await readSecret(ada);
    await page.getByRole('row', { name: /carol@example.net.*Withdraw/ }).waitFor();
    const carol = await acceptLink(browser, link, { name: 'Carol', password: PASSWORD });
    await page.reload();
    await page.getByRole('combobox', { name: 'Role of Carol' }).click();
    await page.getByRole('option', { name: 'Admin' }).click();
    const role = async (): Promise<unknown> => {
      const { body } = await callAs(carol, api('/session'));
      return (body as { data: { organisations: { role: string }[] } }).data.organisations[0]?.role;
    };
    const deadline = Date.now() + 60_000;
    while (Date.now() < deadline && (await role()) !== 'admin') await page.waitForTimeout(200);
    assert.equal(await role(), 'admin');
    await page.getByRole('button', { name: 'Remove Carol' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('button', { name: 'Remove Carol' }).waitFor({ state: 'detached' });
    assert.equal((await callAs(carol, api('/organisations/acme/members'))).status, 404);
    await carol.close();
  });

  it('adds a webhook, tests it, sends again and deletes it', async () => {
    const receiver = internet.edge.spawn([process.execPath, '-e', RECEIVER], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const { page } = ada;
    try {
      await once(receiver.stdout as Readable, 'data');
      await page.goto(`${browser.url}/settings?tab=webhooks`);
      await page.getByRole('button', { name: 'Add a webhook' }).click();
      const form = page.getByRole('form', { name: 'Add a webhook' });
      await form.getByLabel('Name').fill(HOSTILE);
      await form.getByLabel('URL').fill('http://127.0.0.1:9911/hook');
      await form.getByRole('button', { name: 'Add a webhook' }).click();
      assert.match(await readSecret(ada), /^whsec_/);
      await page.getByRole('article', { name: HOSTILE }).waitFor();
      await page.getByRole('button', { name: 'Send a test' }).click();
      const sent = page.getByRole('row', { name: /webhook\.test .*Delivered.*204/ });
      await sent.first().waitFor();
      await sent.first().getByRole('button', { name: 'Send again' }).click();
      await sent.nth(1).waitFor();
      await page.getByRole('button', { name: 'Disable' }).click();
      await page.getByText(/^Disabled: /).waitFor();
      await page.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByText('No webhooks yet').waitFor();
      assert.deepEqual(ada.faults, []);
    } finally {
      receiver.kill();
    }
  });

  it('makes an organisation with an ASN, a prefix, a service and thresholds', async () => {
    const { page } = ada;
    await page.goto(`${browser.url}/operator`);
    await page.getByRole('button', { name: 'Create an organisation' }).click();
    const creating = page.getByRole('form', { name: 'Create an organisation' });
    await creating.getByLabel('Name').fill('Hive');
    await creating.getByLabel('Slug').fill('hive');
    await creating.getByRole('button', { name: 'Create an organisation' }).click();
    await page.getByRole('heading', { name: 'Hive', level: 1 }).waitFor();
    await page.getByLabel('AS number').fill('64502');
    await page.getByRole('button', { name: 'Add the ASN' }).click();
    await page.getByRole('button', { name: 'Remove AS64502' }).waitFor();
    await page.getByRole('button', { name: 'Add a service' }).click();
    const service = page.getByRole('form', { name: 'Add a service' });
    await service.getByLabel('Number').fill('701');
    await service.getByLabel('Name').fill('comb');
    await service.getByRole('button', { name: 'Add a service' }).click();
    await page.getByRole('region', { name: 'Services' }).getByText('#701 comb').waitFor();
    await page.getByRole('button', { name: 'Give a prefix or address' }).click();
    const giving = page.getByRole('form', { name: 'Give a prefix or address' });
    await giving.getByLabel('Prefix or address').fill('198.19.7.0/24');
    await giving.getByRole('combobox', { name: 'Under' }).click();
    await page.getByRole('option', { name: 'AS64502' }).click();
    await giving.getByRole('button', { name: 'Give a prefix or address' }).click();
    await page.getByRole('row', { name: /198\.19\.7\.0\/24 AS64502 .*portal/ }).waitFor();
    await page.getByLabel('Packets a second').fill('5000');
    await page.getByRole('button', { name: 'Save the thresholds' }).click();
    await page.getByText('Saved.').waitFor();
    await page.getByRole('button', { name: 'End 198.19.7.0/24' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End' }).click();
    await page.getByText('No prefixes or addresses').waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Hive', level: 1 }).waitFor();
    assert.equal(await page.getByLabel('Packets a second').inputValue(), '5,000');
    assert.deepEqual(ada.faults, []);
  });

  it('makes a node with its join command and a server from an egg, suspends and deletes it', async () => {
    const { page } = ada;
    const dialog = page.getByRole('dialog');
    await page.goto(`${browser.url}/operator?tab=fleet`);
    await page.getByRole('button', { name: 'Add a host' }).click();
    const host = page.getByRole('form', { name: 'Add a host' });
    await host.getByLabel('Name').fill('spare');
    await host.getByLabel('Addresses for game servers').fill('198.51.100.77');
    await host.getByRole('button', { name: 'Add a host' }).click();
    assert.match(await readSecret(ada), /^portcullis node join http\S+ pcj_\S+$/);
    await page.getByRole('button', { name: 'Join command of spare' }).click();
    await dialog.getByRole('button', { name: 'Join command' }).click();
    assert.match(await readSecret(ada), /^portcullis node join /);
    // A second one of this name would be the first one with other fields.
    await page.getByRole('button', { name: 'Add a host' }).click();
    await host.getByLabel('Name').fill('spare');
    await host.getByText('There is a host spare already.').waitFor();
    assert.equal(await host.getByRole('button', { name: 'Add a host' }).isDisabled(), true);
    await host.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Change spare' }).click();
    const change = page.getByRole('form', { name: 'Change spare' });
    await change.getByLabel('Memory, MiB').fill('4096');
    await change.getByRole('button', { name: 'Save the changes' }).click();
    await page.getByText('0 of 4,096 MiB memory given').waitFor();

    await page.goto(`${browser.url}/operator/hive`);
    await page.getByRole('button', { name: 'Create a server' }).click();
    const form = page.getByRole('form', { name: 'Create a server' });
    // Nobody has joined as this node, so the form says so and makes nothing; a program may still place it there.
    await form
      .getByText(/^Hearth/)
      .first()
      .click();
    await form.getByLabel('Name').fill('Comb');
    await form.getByText('It is not connected.').waitFor();
    const create = form.getByRole('button', { name: 'Create a server' });
    assert.equal(await create.isDisabled(), true);
    const operator = api('/operator');
    const { status, body } = await callAs(ada, `${operator}/organisations/hive/services`);
    assert.equal(status, 200, JSON.stringify(body));
    const { data } = body as { data: { id: number }[] };
    const made = await callAs(ada, `${operator}/game-servers`, 'POST', {
      organisation: 'hive',
      service: data[0]?.id,
      name: 'Comb',
      egg: 'eggs/hearth.json',
      node: 'spare',
      limits: { memory: 512, cpu: 100, disk: 1024 },
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    await page.reload();
    await page.getByText('eggs/hearth.json on spare, 198.51.100.77 port 25565').waitFor();
    await page.getByRole('button', { name: 'Suspend Comb', exact: true }).click();
    await dialog.getByRole('button', { name: 'Suspend' }).click();
    await page.getByText('Suspended', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Unsuspend Comb' }).click();
    await dialog.getByRole('button', { name: 'Unsuspend' }).click();
    await page.getByText('Suspended', { exact: true }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Delete Comb' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No game servers').waitFor();
    assert.deepEqual(ada.faults, []);
  });

  it('lets an operator stop acting and act again, which the audit trail has', async () => {
    const { page } = ada;
    await page.goto(`${browser.url}/operator/acme`);
    await page.getByText(/The fleet file owns this organisation/).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Save', exact: true }).count(), 0);
    await page.getByRole('button', { name: 'Leave acme' }).click();
    await page.getByRole('button', { name: 'Open acme' }).waitFor();
    await page.getByRole('link', { name: 'Addresses' }).click();
    await page.getByText('Choose an organisation').waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('option', { name: 'Operator Area' }).click();
    await page.getByRole('button', { name: 'Open blocks' }).click();
    await page.getByRole('link', { name: FOREIGN, exact: true }).waitFor();
    await page.goto(`${browser.url}/operator?tab=audit`);
    await page.getByRole('searchbox').fill('acting.');
    await page.getByRole('row', { name: /ada@example.net .*acting\.begin .*blocks/ }).waitFor();
    await page.getByRole('row', { name: /ada@example.net .*acting\.end .*acme/ }).waitFor();
    await page.goto(`${browser.url}/operator?tab=people`);
    await page.getByRole('button', { name: 'Invite a person' }).click();
    await page.getByRole('textbox', { name: 'Email' }).fill('erin@example.net');
    await page.getByRole('combobox', { name: 'Belongs to' }).click();
    await page.getByRole('option', { name: 'All of them, as an operator' }).click();
    await page.getByRole('button', { name: 'Make the link' }).click();
    await readSecret(ada);
    const withdraw = page.getByRole('button', { name: 'Withdraw the link for erin@example.net' });
    await withdraw.click();
    await withdraw.waitFor({ state: 'detached' });
    assert.deepEqual(ada.faults, []);
    await page.goto(`${browser.url}/operator`);
    await page.getByRole('button', { name: 'Open acme' }).click();
    await page.getByRole('link', { name: OWN, exact: true }).waitFor();
  });

  for (const scheme of SCHEMES) {
    it(`has no serious finding of axe, no fault and no sideways scroll, ${scheme}`, async () => {
      const visit = await browser.open(scheme);
      const { page } = visit;
      await page.goto(browser.url);
      await signInAs(page, ADA);
      await page.getByRole('tab', { name: /^Fleet/, selected: true }).waitFor();
      await callAs(visit, api('/operator/acting'), 'PUT', { organisation: 'acme' });
      const found: string[] = [];
      for (const path of PAGES) {
        await page.setViewportSize({ width: 1280, height: 800 });
        await page.goto(`${browser.url}${path}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
        for (const finding of await seriousFindings(page)) found.push(`${path}: ${finding}`);
        await page.setViewportSize({ width: 360, height: 740 });
        await requireNoSidewaysScroll(page);
      }
      assert.deepEqual(found, []);
      assert.deepEqual(visit.faults, []);
      await visit.close();
    });
  }
});
