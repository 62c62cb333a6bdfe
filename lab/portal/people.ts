import { stepAt, totpCode } from '@portcullis/control/accounts/second-factor.ts';
import type { APIResponse, Page } from 'playwright-core';
import { EDGE_DEVICE, SERVER } from '../stack/internet.ts';
import type { NewPerson, PortalBrowser, Visit } from './browser.ts';

export const OWN = SERVER[4];
export const FOREIGN = '198.51.100.77';
const SINCE = 'since: "2026-01-01T00:00:00+00:00"';

/** Two organisations, so that each can be seen not to see the other. */
export const TWO_ORGANISATIONS = `organisations:
  acme:
    name: Acme Hosting
    flags: [firewall_api, attack_history_api]
    asns: [64500]
    prefixes: [{ cidr: 203.0.113.0/24, asn: 64500, ${SINCE} }]
    services:
      - { id: 501, name: survival, addresses: [{ ip: ${OWN}, ${SINCE} }] }
    keys:
      - { name: lab, abilities: [firewall.read], secret: "\${LAB_KEY}" }
  blocks:
    name: Blocks & Beds
    flags: [firewall_api]
    asns: [64501]
    prefixes: [{ cidr: 198.51.100.0/24, asn: 64501, ${SINCE} }]
    services:
      - { id: 601, name: lobby, addresses: [{ ip: ${FOREIGN}, ${SINCE} }] }
    keys:
      - { name: theirs, abilities: [firewall.read], secret: "\${LAB_OTHER_KEY}" }
edges:
  - { name: fra1, devices: [${EDGE_DEVICE}], management: [{ protocol: tcp, port: 22 }] }
`;

export const PASSWORD = 'correct horse battery';
export const ADA: NewPerson = { email: 'ada@example.net', name: 'Ada', password: PASSWORD };

/** A code of an authenticator app; `ahead`: that of a later step of 30 s. */
export function appCode(secret: string, ahead = 0): string {
  const bits = Array.from(secret.replaceAll(/\s/g, ''), (letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  ).join('');
  const bytes = (bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2));
  return totpCode(Uint8Array.from(bytes), stepAt(Date.now()) + ahead);
}

export async function typePassword(page: Page, password: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Password' }).fill(password);
}

export async function signInAs(page: Page, { email, password }: NewPerson): Promise<void> {
  await page.getByLabel('Email').fill(email);
  await typePassword(page, password);
  await page.getByRole('button', { name: 'Continue' }).click();
}

/** Opens a link in a browser of its own, and makes an account there. */
export async function acceptLink(
  browser: PortalBrowser,
  link: string,
  person: Pick<NewPerson, 'name' | 'password'>,
  /** The page that is shown first. */
  heading = 'Addresses',
): Promise<Visit> {
  const visit = await browser.open('light');
  await visit.page.goto(link);
  await visit.page.getByLabel('Your name').fill(person.name);
  await typePassword(visit.page, person.password);
  await visit.page.getByRole('button', { name: 'Continue' }).click();
  await visit.page.getByRole('heading', { name: heading, level: 1 }).waitFor();
  return visit;
}

/** The secret that a dialog shows once. */
export async function readSecret({ page }: Visit): Promise<string> {
  await page.getByText('This is shown once').waitFor();
  const secret = await page.getByRole('dialog').locator('output').innerText();
  await page.getByRole('button', { name: 'I have saved it' }).click();
  return secret;
}

/** The program of a receiver of webhooks, which accepts whatever comes, and prints that it is ready. */
export const RECEIVER =
  "require('node:http').createServer((_, reply) => reply.writeHead(204).end()).listen(9911, '127.0.0.1', () => console.log('ready'))";

/** Methods that may be repeated. */
const REPEATED = ['GET', 'PUT'];
const TRIES = 10;

/** Calls the interface as the page of this visit would: with its cookie, and again where it asks for that. */
export async function callAs(
  { page }: Visit,
  url: string,
  method = 'GET',
  body?: object,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const reply = await repeated(page, REPEATED.includes(method) ? TRIES : 1, () =>
    page.request.fetch(url, {
      method,
      headers: { 'x-portcullis-csrf': '1' },
      ...(body !== undefined && { data: body }),
    }),
  );
  return { status: reply.status(), body: await reply.json() };
}

/** The bytes that a path of the interface answers with, read as the page of this visit would. */
export async function readAs({ page }: Visit, url: string): Promise<Buffer> {
  const reply = await repeated(page, TRIES, () => page.request.get(url));
  if (!reply.ok()) throw new Error(`${reply.status()}: ${await reply.text()}`);
  return reply.body();
}

/** Calls again what is answered by 503, as when the node of a busy machine is away for a moment. */
async function repeated(
  page: Page,
  tries: number,
  call: () => Promise<APIResponse>,
): Promise<APIResponse> {
  for (let left = tries - 1; ; left -= 1) {
    const reply = await call();
    if (reply.status() !== 503 || left === 0) return reply;
    await page.waitForTimeout(500);
  }
}

/** A device with a fingerprint reader that always agrees. */
export async function addAuthenticator(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}
