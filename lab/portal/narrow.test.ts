import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { Page } from 'playwright-core';
import { skipUnless } from '../requirements.ts';
import { createInternet, type Internet, SERVER } from '../stack/internet.ts';
import { startStack } from '../stack/stack.ts';
import { type PortalBrowser, startPortalBrowser, type Visit } from './browser.ts';
import { ATTACKED, GAME, PORTAL_FILES, PORTAL_FLEET, WITH_GAMES } from './fleet.ts';
import { startFlood } from './flood.ts';

const NEEDS = ['root', 'netns', 'nft', 'python3', 'postgres', 'chromium'] as const;
const PHONE = { width: 390, height: 844 };
/** The longest time that a page takes until it holds still. */
const SETTLE_MS = 60_000;
const IP = SERVER[4];
const tabs = (path: string, ...names: string[]) => names.map((name) => `${path}?tab=${name}`);
const PAGES = [
  '/addresses',
  ...tabs(`/addresses/${IP}`, 'rules', 'filters', 'geo', 'drops', 'explain', 'history', 'edges'),
  '/attacks',
  '/groups',
  '/groups/new',
  '/servers',
  '/servers/new',
  '/library',
  ...tabs(`/servers/${GAME.uuid}`, 'console', 'files', 'resources', 'history', 'ports', 'build'),
  ...tabs(`/servers/${GAME.uuid}`, 'settings'),
  ...tabs('/settings', 'keys', 'members', 'webhooks', 'organisation'),
  '/account',
  ...tabs('/operator', 'organisations', 'people', 'fleet', 'protection', 'audit'),
  '/operator/acme',
  '/no-such-page',
];
const FORMS = [
  [`/addresses/${IP}`, 'Add a rule'],
  [`/addresses/${IP}?tab=geo`, 'Add a geo rule'],
  ['/settings', 'Create a key'],
  ['/settings?tab=webhooks', 'Add a webhook'],
  ['/operator?tab=protection', 'Add baseline rules'],
  ['/operator?tab=protection', 'Add a responder'],
  ['/operator/acme', 'Add a group'],
  ['/operator/acme', 'Add a geo rule'],
  ['/operator/acme', 'Add blocked sources'],
] as const;

/** Evaluated in the page: what is wider than its place, and what can be pressed but is cut or beyond the edge. */
const FAULTS = `(() => {
  const faults = [];
  const { clientWidth: width, scrollWidth } = document.documentElement;
  if (scrollWidth > width) faults.push('the page scrolls sideways: ' + scrollWidth);
  const named = (element) => element.tagName + ' ' + (element.getAttribute('aria-label') ?? element.textContent).slice(0, 60);
  const isTooNarrow = (element) =>
    element.clientWidth > 1 && element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX !== 'visible';
  for (const element of document.querySelectorAll('main *')) {
    // A log is as wide as its lines, and a field holds more than it shows.
    if (element.closest('.console, input, textarea, .hidden') === null && element.textContent !== '' && isTooNarrow(element)) {
      faults.push('cut or scrolled: ' + named(element));
    }
  }
  for (const element of document.querySelectorAll('main :is(button, a, input, select, textarea)')) {
    const { left, right, width: own } = element.getBoundingClientRect();
    if (own > 1 && (left < 0 || right > width + 1)) faults.push('beyond the edge: ' + named(element));
  }
  return faults;
})()`;
/** Words of tables that stand on two lines. */
const BROKEN_WORDS = `[...document.querySelectorAll('.markdown :is(th, td)')].flatMap((cell) => {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const broken = [];
  while (texts.nextNode()) {
    for (const { index, 0: word } of texts.currentNode.data.matchAll(/\\w+/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, index);
      range.setEnd(texts.currentNode, index + word.length);
      if (range.getClientRects().length > 1) broken.push(word);
    }
  }
  return broken;
})`;

let internet: Internet;
let browser: PortalBrowser;
let visit: Visit;
const undo: (() => Promise<void> | void)[] = [];
const skip = skipUnless(NEEDS);

before(async () => {
  if (skip !== false) return;
  internet = createInternet('narrow');
  undo.push(() => internet.destroy());
  const args = [...WITH_GAMES, '--public-url', 'http://127.0.0.1:8080'];
  const stack = await startStack(internet, { fleet: PORTAL_FLEET, files: PORTAL_FILES, args });
  undo.push(() => stack.stop());
  browser = await startPortalBrowser(stack);
  undo.push(() => browser.stop());
  for (const rule of [
    { action: 'allow', protocol: 'tcp', destination_port: '25565', source_ip: '198.51.100.0/28' },
    { action: 'deny', protocol: 'udp', destination_port: '11211' },
  ]) {
    await stack.api.call('POST', `/api/v1/firewall/ips/${IP}/rules`, rule);
  }
  undo.push(startFlood(internet, 'dns'));
  visit = await browser.open('light', PHONE);
  await visit.act({ email: 'ada@example.net', name: 'Ada', password: 'correct horse' }, 'acme');
});
after(async () => {
  for (const step of undo.toReversed()) await step();
});

/** Faults of the page once the page holds still: a measure during a change would find what nobody sees. */
async function faultsOf(page: Page): Promise<readonly string[]> {
  await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
  await page.evaluate('document.fonts.ready');
  const deadline = performance.now() + SETTLE_MS;
  for (;;) {
    const found = await page.evaluate<string[]>(FAULTS);
    if (found.length === 0 || performance.now() > deadline) return found;
    await page.evaluate('new Promise((done) => setTimeout(done, 250))');
  }
}

it('fits a phone on every page: no button is cut, and nothing scrolls sideways', {
  skip,
}, async () => {
  const { page } = visit;
  const found: string[] = [];
  const check = async (where: string): Promise<void> => {
    for (const fault of await faultsOf(page)) found.push(`${where}: ${fault}`);
  };
  for (const path of PAGES) {
    await page.goto(`${browser.url}${path}`);
    await page.locator('main').getByRole('heading').first().waitFor();
    await check(path);
  }
  for (const [path, button] of FORMS) {
    await page.goto(`${browser.url}${path}`);
    await page.getByRole('button', { name: button }).click();
    await check(`${path}, ${button}`);
  }
  await page.goto(`${browser.url}/addresses/${ATTACKED.ip}`);
  await page.getByRole('link', { name: 'See the attack' }).click();
  await page.getByRole('heading', { name: /DNS amplification on/ }).waitFor();
  await check('an attack');
  assert.deepEqual(found, []);
});

it('shows and deletes a rule on a phone', { skip }, async () => {
  const { page } = visit;
  await page.goto(`${browser.url}/addresses/${IP}`);
  const rule = page.getByRole('row', { name: /Deny UDP 11211 .*Live/ });
  await rule.getByRole('button', { name: /^Delete/ }).click({ trial: true });
  const { x, width } = (await rule.getByText('Live').boundingBox()) ?? assert.fail('no state');
  assert.ok(x >= 0 && x + width <= PHONE.width);
  await rule.getByRole('button', { name: /^Delete/ }).click();
  await rule.waitFor({ state: 'detached' });
});

it('leaves “Stop” to the game server', { skip }, async () => {
  const { page } = visit;
  await page.goto(`${browser.url}/servers/${GAME.uuid}`);
  await page.getByRole('group', { name: 'Power' }).getByText('Stop', { exact: true }).waitFor();
  assert.equal(await page.getByRole('button', { name: /^Stop/ }).count(), 1);
});

it('breaks no word of the tables of the reference on a phone', { skip }, async () => {
  const { page } = visit;
  await page.goto(`${browser.url}/docs`);
  await page.getByRole('cell', { name: 'Blocked sources' }).waitFor();
  assert.deepEqual(await page.evaluate(BROKEN_WORDS), []);
  assert.ok(
    await page.evaluate(
      "[...document.querySelectorAll('.markdown table')].every((table) => table.scrollWidth <= table.parentElement.clientWidth)",
    ),
  );
});
