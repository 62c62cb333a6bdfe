import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { skipUnless } from '../requirements.ts';
import { createInternet, type Internet } from '../stack/internet.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import {
  type PortalBrowser,
  SCHEMES,
  requireNoSidewaysScroll,
  seriousFindings,
  startPortalBrowser,
} from './browser.ts';
import { ATTACKED, PORTAL_FILES, PORTAL_FLEET } from './fleet.ts';
import { startFlood } from './flood.ts';

const NEEDS = ['root', 'netns', 'nft', 'bpf', 'postgres', 'chromium'] as const;
/** A flood is known within seconds, on a loaded machine later. */
const PATIENCE_MS = 120_000;

describe('attacks in a browser, of real floods', { skip: skipUnless(NEEDS) }, () => {
  let internet: Internet;
  let stack: Stack;
  let browser: PortalBrowser;
  const undo: (() => Promise<void> | void)[] = [];

  before(async () => {
    internet = createInternet('attacked');
    undo.push(() => internet.destroy());
    stack = await startStack(internet, { fleet: PORTAL_FLEET, files: PORTAL_FILES });
    undo.push(() => stack.stop());
    browser = await startPortalBrowser(stack);
    undo.push(() => browser.stop());
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });

  it('shows a flood as it is detected, mitigated, cancelled and over, without a reload', async (t) => {
    const visit = await browser.open('light');
    const { page } = visit;
    await visit.signIn();
    await page.getByRole('link', { name: 'Attacks' }).click();
    await page.getByText('No attacks in this time').waitFor();
    const stop = startFlood(internet, 'dns');
    t.after(stop);
    const row = page.getByRole('row', { name: /DNS amplification.*Ongoing/ });
    await row.waitFor({ timeout: PATIENCE_MS });
    assert.match(await row.innerText(), new RegExp(ATTACKED.ip.replaceAll('.', '\\.')));
    await row.getByRole('link', { name: 'DNS amplification' }).click();
    await page
      .getByRole('heading', { name: `DNS amplification on ${ATTACKED.ip}`, level: 1 })
      .waitFor();
    await page.getByText(/ after it was detected/).waitFor({ timeout: PATIENCE_MS });
    await page.getByRole('row', { name: /UDP from port 53 \(dns\) is dropped/ }).waitFor();
    await page.getByText('Packets a second').click();
    // The curve is renewed with the evidence, every ten seconds.
    await page
      .getByRole('img', { name: /Packets a second over time, .* threshold of 200\.00 pps/ })
      .waitFor({ timeout: PATIENCE_MS });
    await page
      .getByRole('meter', { name: 'UDP 53', exact: true })
      .waitFor({ timeout: PATIENCE_MS });

    const address = await browser.open('light');
    await address.signIn();
    await address.page.getByRole('link', { name: 'Under attack' }).waitFor();
    await address.page.getByRole('link', { name: ATTACKED.ip, exact: true }).click();
    await address.page.getByText(/Under attack: DNS amplification/).waitFor();
    await address.page.getByRole('link', { name: 'See the attack' }).waitFor();
    assert.deepEqual(address.faults, []);
    await address.close();

    await page.getByRole('button', { name: 'Cancel mitigation' }).click();
    const dialog = page.getByRole('dialog', { name: 'Let this attack through?' });
    await dialog.getByRole('button', { name: 'Cancel mitigation' }).click();
    await page.getByText('Mitigation cancelled').waitFor();
    await stop();
    await page.locator('.pill', { hasText: 'Ended' }).waitFor({ timeout: PATIENCE_MS });
    const cancel = page.getByRole('button', { name: 'Cancel mitigation' });
    assert.equal(await cancel.getAttribute('aria-disabled'), 'true');
    await cancel.hover();
    await page.getByText('It is already cancelled.').waitFor();
    assert.deepEqual(visit.faults, []);
    await visit.close();
  });

  it('narrows by address, prefix and ASN, and downloads what it shows', async () => {
    const visit = await browser.open('light');
    const { page } = visit;
    await visit.signIn();
    await page.goto(`${browser.url}/attacks`);
    await page.getByRole('row', { name: /DNS amplification/ }).waitFor();
    const search = page.getByRole('searchbox');
    await search.fill('203.0.113.1/24');
    await page.getByText(/is not an address, prefix or ASN/).waitFor();
    await search.fill('203.0.113.41');
    await page.getByText('No attacks in this time').waitFor();
    await search.fill('203.0.113.0/24 AS64500');
    await page.getByRole('row', { name: /DNS amplification/ }).waitFor();
    assert.match(page.url(), /q=203\.0\.113\.0/);
    const csv = await download(page, 'CSV');
    assert.match(csv, /^id,destination_ip,.*\r\n\d+,203\.0\.113\.40,[0-9./]+,dns_amplif/);
    const json = JSON.parse(await download(page, 'JSON')) as { attacks: { status: string }[] };
    assert.deepEqual(
      json.attacks.map(({ status }) => status),
      ['ended'],
    );
    await page.getByRole('switch', { name: 'Ongoing only' }).click();
    await page.getByText('No ongoing attack').waitFor();
    await page.reload();
    await page.getByText('No ongoing attack').waitFor();
    assert.deepEqual(visit.faults, []);
    await visit.close();
  });

  it('says that it reconnects while control is away, and then shows by itself what happened meanwhile', async () => {
    const visit = await browser.open('light');
    const { page } = visit;
    await visit.signIn();
    await page.goto(`${browser.url}/addresses/${ATTACKED.ip}`);
    await page.getByText('No rules').waitFor();
    await stack.terminate();
    await page.getByText('Reconnecting…').waitFor();
    await stack.start('--enforce');
    const rule = { action: 'deny', protocol: 'udp', destination_port: '53' };
    await stack.api.call('POST', `/api/v1/firewall/ips/${ATTACKED.ip}/rules`, rule);
    await page.getByRole('row', { name: /Deny UDP 53 .*Live/ }).waitFor({ timeout: PATIENCE_MS });
    await page.getByText('Reconnecting…').waitFor({ state: 'detached' });
    await visit.close();
  });

  for (const scheme of SCHEMES) {
    it(`has no serious finding of axe, no fault and no sideways scroll, ${scheme}`, async () => {
      const visit = await browser.open(scheme);
      const { page } = visit;
      await visit.signIn();
      await page.goto(`${browser.url}/attacks`);
      const link = page.getByRole('row').getByRole('link', { name: 'DNS amplification' });
      await link.waitFor();
      const found = await seriousFindings(page);
      await link.click();
      await page.getByRole('heading', { name: 'Timeline' }).waitFor();
      found.push(...(await seriousFindings(page)));
      await page.setViewportSize({ width: 360, height: 740 });
      await requireNoSidewaysScroll(page);
      await page.goto(`${browser.url}/attacks`);
      await link.waitFor();
      await requireNoSidewaysScroll(page);
      assert.deepEqual([found, visit.faults], [[], []]);
      await visit.close();
    });
  }
});

async function download(page: Page, kind: string): Promise<string> {
  await page.getByRole('button', { name: 'Download' }).click();
  const saving = page.waitForEvent('download');
  await page.getByRole('menuitem', { name: kind }).click();
  return readFileSync(await (await saving).path(), 'utf8');
}
