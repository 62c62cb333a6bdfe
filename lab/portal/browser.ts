import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { afterEach } from 'node:test';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import type { Stack } from '../stack/stack.ts';
import { eventually } from '../system/stack-fixture.ts';

export const SCHEMES = ['light', 'dark'] as const;
export type Scheme = (typeof SCHEMES)[number];

/** A browser in front of a running stack, whose pages record what they must not do. */
export interface PortalBrowser {
  readonly url: string;
  open(scheme: Scheme, size?: { readonly width: number; readonly height: number }): Promise<Visit>;
  stop(): Promise<void>;
}

export interface Visit {
  readonly page: Page;
  /** Errors and warnings of the console, uncaught errors, and requests to other hosts. */
  readonly faults: readonly string[];
  /** Empties it, after a refusal that the test wants. */
  takeFaults(): string[];
  /** Forgets what a failed test may have left in a visit that others use: faults, routes and another width. */
  renew(): Promise<void>;
  /** Signs in with the key of the stack. */
  signIn(): Promise<void>;
  /** Makes a new operator by a one-time link, and acts for the organisation: every role's pages work then. */
  act(person: NewPerson, slug: string): Promise<void>;
  close(): Promise<void>;
}

export interface NewPerson {
  readonly email: string;
  readonly name: string;
  readonly password: string;
}

const EXECUTABLE = '/usr/bin/chromium';
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PATIENCE_MS = 60_000;
/** A message that the terminal of a console logs on a busy machine. */
const SLOW = /^task queue exceeded allotted deadline/;
/**
 * The line that the browser logs of a 503, as for a node that was paused for longer than control waits. The client of the page
 * asks again; a test waits for what the page shows then.
 */
const AGAIN = /^Failed to load resource: .* status of 503\b/;

/** `door`: one that was opened before the stack, whose public URL it then has. */
export async function startPortalBrowser(
  stack: Stack,
  door: Door | null = null,
): Promise<PortalBrowser> {
  const { url, lead, close } = door ?? (await openDoor('127.0.0.1'));
  lead(join(dirname(stack.fleetFile), 'api.sock'));
  const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox'] });
  return {
    url,
    open: (scheme, size = { width: 1280, height: 800 }) => visit(browser, url, stack, scheme, size),
    async stop() {
      await browser.close();
      close();
    },
  };
}

/** A port of this machine that leads to a stack in its namespace. */
export interface Door {
  readonly url: string;
  /** Leads to the interface at this Unix socket from now on. */
  lead(socket: string): void;
  close(): void;
}

/** Browsers accept passkeys for names only, such as `localhost`. */
export async function openDoor(host: 'localhost' | '127.0.0.1'): Promise<Door> {
  let socket = '';
  const server = createServer((incoming) => {
    const outgoing = connect(socket);
    incoming.pipe(outgoing).pipe(incoming);
    // A stream of events never ends by itself: the side that is left is closed with the other.
    for (const [one, other] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://${host}:${address.port}`,
    lead: (path) => {
      socket = path;
    },
    close: () => server.close(),
  };
}

function recordFaults(page: Page, ownUrl: string): string[] {
  const faults: string[] = [];
  page.on('console', (message) => {
    const text = message.text();
    if (!['error', 'warning'].includes(message.type()) || SLOW.test(text)) return;
    const fault = `${text} (${message.location().url})`;
    if (AGAIN.test(text)) console.log(fault);
    else faults.push(fault);
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== 'data:' && origin !== ownUrl) faults.push(`request to ${request.url()}`);
  });
  return faults;
}

async function visit(
  browser: Browser,
  url: string,
  stack: Stack,
  colorScheme: Scheme,
  viewport: { readonly width: number; readonly height: number },
): Promise<Visit> {
  // Axe is evaluated by the test, which the policy of the page refuses to its own scripts.
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const faults = recordFaults(page, url);
  return {
    page,
    faults,
    takeFaults: () => faults.splice(0),
    async renew() {
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      await page.setViewportSize(viewport);
      faults.length = 0;
    },
    async signIn() {
      await page.goto(`${url}/`);
      await page.getByRole('button', { name: 'Use an API key instead' }).click();
      await page.getByLabel('API key').fill(stack.key);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByRole('heading', { name: 'Addresses', level: 1 }).waitFor();
      await page.getByRole('row').nth(1).waitFor();
    },
    async act({ email, name, password }, slug) {
      const link = /\/link#([A-Za-z0-9_-]{43})/.exec(await stack.command('portal', 'link'))?.[0];
      if (link === undefined) throw new Error('no link was printed');
      await page.goto(`${url}${link}`);
      await page.getByLabel('Email').fill(email);
      await page.getByLabel('Your name').fill(name);
      await page.getByLabel('Password', { exact: false }).first().fill(password);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByRole('tab', { name: /^Fleet/, selected: true }).waitFor();
      await page.goto(`${url}/addresses`);
      await page.getByPlaceholder('Choose one').click();
      await page.getByRole('option', { name: `(${slug})` }).click();
      await page.getByRole('button', { name: 'Open the organisation' }).click();
      await page.getByRole('button', { name: `Leave ${slug}` }).waitFor();
    },
    close: () => context.close(),
  };
}

/** Has the visits that the tests of a suite share forget what a failed one left, so that it fails none after it. */
export function renewAfterFailure(visits: () => readonly (Visit | undefined)[]): void {
  afterEach(async (t) => {
    if (Reflect.get(t, 'passed') === true) return;
    for (const visit of visits()) await visit?.renew();
  });
}

/** Takes back what a toast says, at once, because it goes by itself. Resolves when the service has answered. */
export async function takeBack(page: Page, said: RegExp): Promise<void> {
  const toast = page.getByRole('alert').filter({ hasText: said });
  const button = toast.getByRole('button', { name: 'Undo' });
  await button.waitFor();
  const answered = page.waitForResponse((reply) => reply.request().method() !== 'GET');
  await button.click();
  await answered;
}

/** Waits until a dialog, or a field of it, has the focus, which it takes a moment after it is seen; keys go elsewhere before. */
export async function waitForFocus(place: Locator): Promise<void> {
  await place.and(place.page().locator(':focus')).or(place.locator(':focus')).waitFor();
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string | null;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

/** Waits for it, because charts follow a new width a moment later. Throws if the page stays wider than the window. */
export async function requireNoSidewaysScroll(page: Page): Promise<void> {
  // Not by `waitForFunction`, which evaluates in the page, where its policy forbids that.
  await eventually('the page is as wide as its window', () =>
    page.evaluate<boolean>(
      'document.documentElement.scrollWidth <= document.documentElement.clientWidth',
    ),
  );
}

/** Findings that axe finds serious or critical on the page as it is now. */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate<AxeResult>(
    "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })",
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
}
