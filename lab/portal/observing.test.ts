import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skipUnless } from '../requirements.ts';
import { createInternet, SERVER } from '../stack/internet.ts';
import { startStack } from '../stack/stack.ts';
import { startPortalBrowser } from './browser.ts';

const IP = SERVER[4];
/** A step of the page's clock: the interval at which a page reads what is on its way to edges. */
const STEP_MS = 2_000;
const STEPS = 4;

test('where the edge only observes, the portal says once that nothing is enforced, and does not poll', {
  skip: skipUnless(['root', 'netns', 'nft', 'chromium', 'postgres']),
}, async (t) => {
  const internet = createInternet('observing');
  const undo: (() => Promise<void> | void)[] = [() => internet.destroy()];
  t.after(async () => {
    for (const step of undo.toReversed()) await step();
  });
  const stack = await startStack(internet);
  undo.push(() => stack.stop());
  await stack.terminate();
  await stack.start();
  const rule = { action: 'deny', protocol: 'udp', destination_port: '19' };
  await stack.api.call('POST', `/api/v1/firewall/ips/${IP}/rules`, rule);
  const browser = await startPortalBrowser(stack);
  undo.push(() => browser.stop());
  const visit = await browser.open('light');
  const { page } = visit;
  await page.clock.install();
  await visit.signIn();
  await page.goto(`${browser.url}/addresses/${IP}?tab=rules`);
  await page.getByText('waits for an edge').waitFor();
  await page.getByRole('row').nth(1).waitFor();
  assert.equal(await page.getByText('Live', { exact: true }).count(), 0);
  assert.equal(await page.locator('.pill.moving').count(), 0, 'nothing is on its way');

  await page.getByRole('button', { name: 'Block sources' }).click();
  const form = page.getByRole('form', { name: 'Block sources' });
  await form.getByLabel('Sources').fill('192.0.2.7');
  await form.getByRole('button', { name: 'Block', exact: true }).click();
  await page.getByText('It waits for an edge: none enforces there now.').waitFor();

  let reads = 0;
  page.on('request', (request) => {
    if (request.url().endsWith(`/firewall/ips/${IP}`)) reads += 1;
  });
  const step = async (): Promise<void> => {
    await page.clock.runFor(STEP_MS);
    await page.evaluate(() => fetch('/healthz'));
  };
  const opened = page.waitForResponse((reply) => reply.url().endsWith('/events'));
  await page.reload();
  await opened;
  await page.getByRole('row', { name: '192.0.2.7' }).waitFor();
  // What was read before the stream of events was open is read again, which is no poll.
  for (let [quiet, steps] = [0, 0]; quiet < 2 && steps < 2 * STEPS; steps += 1) {
    const before = reads;
    await step();
    quiet = before === reads ? quiet + 1 : 0;
  }
  reads = 0;
  for (let steps = 0; steps < STEPS; steps += 1) await step();
  assert.equal(reads, 0);
});
