import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createInternet, type Internet, SERVER } from '../stack/internet.ts';
import { skipUnless } from '../requirements.ts';
import { startServices } from '../stack/services.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import {
  type PortalBrowser,
  requireNoSidewaysScroll,
  SCHEMES,
  seriousFindings,
  startPortalBrowser,
  takeBack,
  type Visit,
  waitForFocus,
} from './browser.ts';
import { FIREWALL_JOURNEYS } from './firewall-journeys.ts';
import { PORTAL_FILES, PORTAL_FLEET } from './fleet.ts';

const IP = SERVER[4];
const NEEDS = ['root', 'netns', 'nft', 'python3', 'postgres', 'chromium'] as const;
/** The first page with its script, compressed. */
const MAX_SCRIPT_BYTES = 250_000;

describe('the portal in a browser, over a stack that enforces', { skip: skipUnless(NEEDS) }, () => {
  let internet: Internet;
  let stack: Stack;
  let browser: PortalBrowser;
  const undo: (() => Promise<void> | void)[] = [];

  before(async () => {
    internet = createInternet('portal');
    undo.push(() => internet.destroy());
    const services = startServices(internet);
    undo.push(() => services.stop());
    stack = await startStack(internet, {
      fleet: PORTAL_FLEET,
      files: PORTAL_FILES,
      // People sign in over https, or on this machine.
      args: ['--enforce', '--public-url', 'http://127.0.0.1:8080'],
    });
    undo.push(() => stack.stop());
    browser = await startPortalBrowser(stack);
    undo.push(() => browser.stop());
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });

  async function signedIn(scheme: (typeof SCHEMES)[number] = 'light'): Promise<Visit> {
    const visit = await browser.open(scheme);
    await visit.signIn();
    return visit;
  }

  async function visitAddress({ page }: Visit, tab: string): Promise<void> {
    await page.goto(`${browser.url}/addresses/${IP}?tab=${tab}`);
    await page.getByRole('tabpanel').waitFor();
  }

  it('says why a key is refused, lets a good one in, and forgets it on sign-out', async () => {
    const visit = await browser.open('light');
    const { page } = visit;
    await page.goto(`${browser.url}/addresses`);
    await page.getByRole('button', { name: 'Use an API key instead' }).click();
    await page.getByLabel('API key').fill('pcl_mistyped');
    await page.keyboard.press('Enter');
    await page.getByText(/malformed/).waitFor();
    await visit.signIn();
    await page.getByRole('link', { name: IP, exact: true }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.reload();
    await page.getByLabel('Email').waitFor();
    assert.equal(await page.evaluate('sessionStorage.length + document.cookie.length'), 0);
    await visit.close();
  });

  it('makes an operator by a one-time link, who acts for an organisation and signs in again', async () => {
    const visit = await browser.open('light');
    const { page } = visit;
    const person = { email: 'ada@example.net', name: 'Ada', password: 'correct horse battery' };
    await visit.act(person, 'acme');
    await page.getByRole('link', { name: IP, exact: true }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: IP, exact: true }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Email').fill(person.email);
    await page.getByLabel('Password', { exact: false }).first().fill('not the password');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('alert').waitFor();
    await visit.close();
  });

  it('loads at most 250 kB of compressed script for the first page', async () => {
    const visit = await signedIn();
    const bytes = await visit.page.evaluate<number>(
      "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js')).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)",
    );
    assert.ok(bytes > 50_000 && bytes <= MAX_SCRIPT_BYTES, `${bytes} bytes`);
    await visit.close();
  });

  it('goes to an address by keys alone, and shows the keys', async () => {
    const visit = await signedIn();
    const { page } = visit;
    await page.keyboard.press('?');
    await waitForFocus(page.getByRole('dialog', { name: 'Keyboard shortcuts' }));
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await page.keyboard.type('no such');
    await page.getByText('No address matches').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('An address, a server, an area, a command…').fill(IP);
    await page.getByRole('option', { name: IP }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: IP, level: 1 }).waitFor();
    assert.deepEqual(visit.faults, []);
    await visit.close();
  });

  it('takes what is typed before the palette is there, or knows its names, for no other key', async () => {
    const visit = await signedIn();
    const { page } = visit;
    const [script, list] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route(/\/Palette[^/]*\.js$/, async (route) => {
      await script.promise;
      await route.continue();
    });
    await page.route(/\/x1\/firewall\/ips\?/, async (route) => {
      await list.promise;
      await route.continue();
    });
    await page.goto(`${browser.url}/attacks`);
    await page.getByRole('heading', { name: 'Attacks', level: 1 }).waitFor();
    for (const key of ['Control+k', 'g', 's']) await page.keyboard.press(key);
    script.resolve();
    const field = page.getByPlaceholder('An address, a server, an area, a command…');
    await waitForFocus(field);
    await field.fill(IP.slice(3));
    await page.getByText('No match.').waitFor();
    list.resolve();
    await page.getByRole('option', { name: IP }).waitFor();
    assert.equal(new URL(page.url()).pathname, '/attacks');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: IP, level: 1 }).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    assert.deepEqual(visit.faults, []);
    await visit.close();
  });

  it('shows what changed after it was read and before its stream of events was open', async () => {
    const visit = await signedIn();
    const { page } = visit;
    const opening = Promise.withResolvers<void>();
    await page.route('**/x1/events', async (route) => {
      await opening.promise;
      await route.continue();
    });
    await visitAddress(visit, 'rules');
    await page.getByRole('row', { name: /no-amplification/ }).waitFor();
    const rule = { action: 'allow', protocol: 'tcp', destination_port: '9300' };
    const written = await stack.api.call('POST', `/api/v1/firewall/ips/${IP}/rules`, rule);
    await stack.api.live(IP, written.headers);
    opening.resolve();
    await page.getByRole('row', { name: /Allow TCP 9300/ }).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    assert.deepEqual(visit.faults, []);
    await visit.close();
  });

  it('takes a rule from the form to the kernel, explains it, and takes it back', async () => {
    const visit = await signedIn();
    const { page } = visit;
    await visitAddress(visit, 'rules');
    const owned = page.getByRole('row', { name: /no-amplification/ });
    await owned.waitFor();
    assert.equal(await owned.getByRole('button').count(), 0);

    await page.getByRole('button', { name: 'Add a rule' }).click();
    const form = page.getByRole('form', { name: 'Add a rule' });
    await form.getByText('Deny').click();
    assert.equal(answers(80), true);
    await form.getByLabel('Port').fill('80-');
    await form.getByText(/neither a port nor a range/).waitFor();
    await form.getByLabel('Port').fill('80');
    await form.getByText('1 port: 80.').waitFor();
    await form.getByRole('button', { name: 'Add rule' }).click();
    const row = page.getByRole('row', { name: /Deny TCP 80 .*Live/ });
    await row.waitFor();
    assert.equal(answers(80), false, 'live, and yet the packet passes');

    await row.getByRole('button', { name: /^Delete/ }).click();
    await takeBack(page, /1 rule deleted/);
    await row.waitFor();

    await visitAddress(visit, 'explain');
    await page.getByLabel('From').fill('192.0.2.2');
    await page.getByLabel('To port').fill('80');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByRole('heading', { name: 'It is dropped' }).waitFor();
    assert.equal(await page.locator('[aria-current=step]').innerText(), 'Rules\ndecided here');
    assert.deepEqual(visit.faults, []);
    await visit.close();
  });

  it('shows who dropped a packet, and begins the rule that lets it in', async () => {
    const visit = await signedIn();
    const { page } = visit;
    const written = await stack.api.call('POST', `/api/v1/firewall/ips/${IP}/rules`, {
      action: 'deny',
      protocol: 'udp',
      destination_port: '8888',
    });
    await stack.api.live(IP, written.headers);
    await visitAddress(visit, 'drops');
    // Each processor keeps one in 1,024 drops of an address, and these are sent by few of them.
    const script = `import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(8192): s.sendto(b"x", ("${IP}", 8888))`;
    internet.client.run('python3', '-c', script);
    await page.getByRole('button', { name: 'Open port 8888' }).first().click();
    const form = page.getByRole('form', { name: 'Add a rule' });
    assert.equal(await form.getByLabel('Port').inputValue(), '8888');
    assert.deepEqual(visit.faults, []);
    await visit.close();
  });

  it('pastes many rules at once, or none', async () => {
    const visit = await signedIn();
    const { page } = visit;
    await visitAddress(visit, 'rules');
    await page.getByRole('button', { name: 'Paste rules' }).click();
    const box = page.getByLabel('One rule a line');
    await box.fill('allow tcp 9001\nopen sesame');
    await page.getByText(/^Line 2:/).waitFor();
    assert.ok(await page.getByRole('button', { name: /^Add .* line/ }).isDisabled());
    await box.fill('allow tcp 9001\ndeny udp 9002 from 198.51.100.0/24');
    await page.getByRole('button', { name: 'Add 2 lines' }).click();
    await page.getByRole('row', { name: /Allow TCP 9001/ }).waitFor();
    await page.getByRole('row', { name: /Deny UDP 9002 198.51.100.0\/24/ }).waitFor();
    await visit.close();
  });

  for (const scheme of SCHEMES) {
    it(`has no serious finding of axe, no fault and no sideways scroll, ${scheme}`, async () => {
      const visit = await browser.open(scheme);
      const { page } = visit;
      const found: string[] = [];
      const check = async (where: string): Promise<void> => {
        for (const finding of await seriousFindings(page)) found.push(`${where}: ${finding}`);
      };
      await page.goto(browser.url);
      await page.getByLabel('Email').waitFor();
      await check('sign-in');
      await visit.signIn();
      await check('addresses');
      for (const tab of ['rules', 'filters', 'drops', 'explain', 'edges']) {
        await visitAddress(visit, tab);
        await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' });
        await check(tab);
      }
      await page.setViewportSize({ width: 360, height: 740 });
      for (const path of ['/addresses', `/addresses/${IP}`]) {
        await page.goto(`${browser.url}${path}`);
        await page.getByRole('row').nth(1).waitFor();
        await requireNoSidewaysScroll(page);
      }
      assert.deepEqual(found, []);
      assert.deepEqual(visit.faults, []);
      await visit.close();
    });
  }

  let grace: Promise<Visit> | undefined;
  async function person(): Promise<Visit> {
    const visit = await browser.open('light');
    const about = { email: 'grace@example.net', name: 'Grace', password: 'correct horse battery' };
    await visit.act(about, 'acme');
    return visit;
  }
  for (const [name, travel] of Object.entries(FIREWALL_JOURNEYS)) {
    it(name, () => travel({ browser, person: () => (grace ??= person()) }));
  }

  /** Whether the server answers the client on this TCP port, through the edge. */
  function answers(port: number): boolean {
    const script = `import socket; socket.create_connection(("${IP}", ${port}), 3)`;
    try {
      internet.client.run('python3', '-c', script);
      return true;
    } catch {
      return false;
    }
  }
});
