import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { end, startControl } from '../control/control-process.ts';
import { median } from '../measure.ts';
import type { Bench, Row } from '../report.ts';
import { ADDRESSES, BUSY, fillPortal, RULES } from './portal-fixture.ts';

const EXECUTABLE = '/usr/bin/chromium';
const ROUNDS = 15;
/** The time that a person takes as immediate. */
const GOAL_MS = 100;
/** The page is still for this long: what an input caused has been painted. */
const STILL_MS = 400;

/** How long the portal takes from an input to the last paint that it causes, in Chromium, with many rows. */
export const portalBench: Bench = {
  name: 'portal',
  missing: () => (existsSync(EXECUTABLE) ? null : 'chromium is not installed'),
  async run(say) {
    const data = mkdtempSync(join(tmpdir(), 'portcullis-bench-'));
    const control = await startControl(data);
    const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox'] });
    try {
      const key = await fillPortal(control.databaseUrl);
      const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
      await page.addInitScript(WATCH);
      await signIn(page, `http://127.0.0.1:${control.port}`, key);
      const rows = [...(await addressRows(page)), ...(await ruleRows(page))];
      for (const { name, value } of rows) say(`${name}: ${value.toFixed(0)} ms`);
      return rows;
    } finally {
      await browser.close();
      await end(control.child);
      rmSync(data, { recursive: true, force: true });
    }
  },
};

/** Notes when the last input came, and when what changed since was painted. An attribute that
 * React removes and sets again is no change. */
const WATCH = `(() => {
  const seen = { inputMs: 0, paintedMs: 0 };
  globalThis.portalBench = seen;
  for (const kind of ['keydown', 'pointerdown']) {
    addEventListener(kind, (event) => { seen.inputMs = event.timeStamp; seen.paintedMs = event.timeStamp; }, true);
  }
  const isChange = (mutations) => {
    const before = new Map();
    for (const { type, target, attributeName, oldValue } of mutations) {
      if (type !== 'attributes') return true;
      const known = before.get(target) ?? {};
      if (!(attributeName in known)) known[attributeName] = oldValue;
      before.set(target, known);
    }
    return [...before].some(([target, known]) =>
      Object.entries(known).some(([name, value]) => target.getAttribute(name) !== value));
  };
  new MutationObserver((mutations) => {
    if (!isChange(mutations)) return;
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => { seen.paintedMs = performance.now(); };
      channel.port2.postMessage(0);
    });
  }).observe(document, {
    subtree: true, childList: true, attributes: true, attributeOldValue: true, characterData: true,
  });
})()`;

async function signIn(page: Page, url: string, key: string): Promise<void> {
  await page.goto(url);
  await page.getByRole('button', { name: 'Use an API key instead' }).click();
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText(`${ADDRESSES.toLocaleString('en')} addresses`).waitFor();
}

/** Milliseconds from the input to the last paint. */
async function timed(page: Page, input: () => Promise<void>): Promise<number> {
  await page.waitForTimeout(STILL_MS);
  await input();
  return page.evaluate<number>(`new Promise((resolve) => {
    const { portalBench: seen } = globalThis;
    const look = () => performance.now() - Math.max(seen.inputMs, seen.paintedMs) > ${STILL_MS}
      ? resolve(seen.paintedMs - seen.inputMs) : setTimeout(look, 50);
    look();
  })`);
}

/** Medians of rounds; the first warms up. */
async function rowOf(page: Page, name: string, input: (round: number) => Promise<void>) {
  const taken: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const ms = await timed(page, () => input(round));
    if (round > 0) taken.push(ms);
  }
  const row = { unit: 'ms', baseline: null, goal: GOAL_MS, goalIs: 'at most' } as const;
  return [
    { ...row, name: `${name}, median`, value: median(taken) },
    { ...row, name: `${name}, slowest of ${ROUNDS}`, value: Math.max(...taken) },
  ] satisfies Row[];
}

async function typing(page: Page, name: string): Promise<Row[]> {
  const search = page.getByRole('searchbox');
  await search.focus();
  const keys = ['1', '0', 'Backspace', 'Backspace'];
  const rows = await rowOf(page, name, (round) => page.keyboard.press(keys[round % 4] ?? '1'));
  await search.fill('');
  return rows;
}

async function addressRows(page: Page): Promise<Row[]> {
  const of = `${ADDRESSES} addresses`;
  const sort = page.getByRole('columnheader', { name: 'Rules' }).getByRole('button');
  const filters = ['Without', 'All', 'With rules', 'All'];
  return [
    ...(await typing(page, `${of}: type in the search`)),
    ...(await rowOf(page, `${of}: sort by rules`, () => sort.click())),
    ...(await rowOf(page, `${of}: filter`, (round) =>
      page.getByText(filters[round % 4] ?? 'All', { exact: true }).click(),
    )),
  ];
}

async function ruleRows(page: Page): Promise<Row[]> {
  await page.goto(`${new URL(page.url()).origin}/addresses/${BUSY}`);
  await page.getByRole('row').nth(5).waitFor();
  const of = `${RULES} rules`;
  const all = page.getByRole('checkbox', { name: 'Select all rules of this address' });
  const one = page.getByRole('row').nth(3).getByRole('checkbox');
  return [
    ...(await typing(page, `${of}: type in the search`)),
    ...(await rowOf(page, `${of}: select one`, () => one.click())),
    ...(await rowOf(page, `${of}: select all`, () => all.click())),
  ];
}
