import { join } from 'node:path';
import { SERVER } from '../stack/internet.ts';
import type { PortalBrowser, Scheme } from './browser.ts';

const IP = SERVER[4];
const BASE = '/api/portal/organisations/acme';
const NOTED = [
  { action: 'allow', protocol: 'tcp', destination_port: '25566', note: 'Java edition' },
  { action: 'allow', protocol: 'udp', destination_port: '19140', note: 'Bedrock, for the event' },
  { action: 'deny', protocol: 'any', source_ip: '198.18.9.0/24', note: 'Botnet of 3 March' },
].map((rule, index) => ({ ...rule, tags: [['live', 'java'], ['live'], ['abuse']][index] }));
/** Sent in this order: path and body. */
const CONTENT = [
  [`/x1/firewall/ips/${IP}/rules`, { rules: NOTED }],
  [
    '/groups',
    {
      name: 'Web and voice',
      rules: [
        { action: 'allow', protocol: 'tcp', destination_port: '8080,8443' },
        { action: 'allow', protocol: 'udp', destination_port: '9987' },
      ],
      filters: [],
      targets: ['203.0.113.64/26', IP, '203.0.113.20'],
    },
  ],
  ['/geo-rules', { action: 'deny', countries: ['BR', 'ID', 'VN'], asns: [64999], targets: [IP] }],
] as const;

interface Settings {
  readonly scheme: Scheme;
  readonly size: { readonly width: number; readonly height: number };
  readonly folder: string;
  /** Whether what the pictures show is there already. */
  readonly isPrepared: boolean;
}

/** Pictures of groups and of the tabs of an address that only people have. */
export async function takeFirewall(
  { open, url }: PortalBrowser,
  { scheme, size, folder, isPrepared }: Settings,
): Promise<void> {
  const { page, act, close } = await open(scheme, size);
  const name = `${scheme}@example.net`;
  await act({ email: name, name: 'Grace', password: 'correct horse battery' }, 'acme');
  if (!isPrepared) {
    for (const [path, body] of CONTENT) {
      const { request } = page.context();
      const headers = { 'x-portcullis-csrf': '1' };
      await request.post(`${url}${BASE}${path}`, { data: body, headers });
    }
  }
  const take = (picture: string) =>
    page.screenshot({
      path: join(folder, `${picture}-${scheme}.png`),
      animations: 'disabled',
    });
  await page.goto(`${url}/groups`);
  await page.getByRole('row').nth(2).waitFor();
  await take('groups');
  await page.getByRole('link', { name: 'Web and voice' }).click();
  await page.getByRole('button', { name: 'Paste rules' }).click();
  await page.getByLabel('One rule a line').fill('deny udp 1900');
  await page.getByRole('button', { name: 'Add 1 line' }).click();
  await page.getByText(/stop the whole change/).waitFor();
  await take('group');
  await page.getByRole('button', { name: 'Discard changes' }).click();
  await page.goto(`${url}/addresses/${IP}`);
  await page.getByText('Java edition').waitFor();
  await take('notes');
  await page.goto(`${url}/addresses/${IP}?tab=history`);
  await page.getByText('Geo rule created').first().waitFor();
  await take('history');
  await page.goto(`${url}/addresses/${IP}?tab=geo`);
  await page.getByRole('button', { name: /^Edit the geo rule/ }).click();
  await page.getByText('3 chosen').waitFor();
  await take('geo');
  await close();
}
