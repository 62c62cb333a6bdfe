import type { Command } from 'commander';
import { callApi } from '../../api.ts';
import { unavailable } from '../../exit.ts';
import { type ApiOptions, parseMoment, withApiOptions } from '../../options.ts';

/** Options that select attacks. */
export interface AttackOptions extends ApiOptions {
  readonly ip?: string;
  readonly prefix?: string;
  readonly asn?: string;
  readonly from?: string;
  readonly to?: string;
  readonly ongoing?: boolean;
}

export function withTargetOptions(command: Command): Command {
  return withApiOptions(
    command
      .option('--ip <ip>', 'only attacks on this address')
      .option('--prefix <cidr>', 'only attacks on addresses in this prefix')
      .option('--asn <asn>', 'only attacks on prefixes announced under this ASN'),
  );
}

export interface Attack {
  readonly id: number;
  readonly destination_ip: string;
  readonly prefix: string;
  readonly attack_type: string;
  readonly peak_bps: number;
  readonly peak_bps_formatted: string;
  readonly peak_pps: number;
  readonly peak_pps_formatted: string;
  readonly started_at: string;
  readonly mitigated_at: string | null;
  readonly ended_at: string | null;
  readonly duration_seconds: number;
  readonly status: string;
}
export interface AttackPages {
  readonly attacks: readonly Attack[];
  readonly meta: Page['meta'];
  readonly pages: number;
}
interface Page {
  readonly data: readonly Attack[];
  readonly links: { readonly next: string | null };
  readonly meta: { readonly total: number; readonly from: string; readonly from_clamped: boolean };
}

const PER_PAGE = 100;

/** Loads pages until `limit` attacks are there. All pages show the same moment, so new attacks shift none of them. */
export async function loadAttacks(
  options: AttackOptions,
  query: URLSearchParams,
  limit: number,
): Promise<AttackPages> {
  query.set('per_page', String(Math.min(limit, PER_PAGE)));
  let page = await loadPage(options, `/api/v1/attacks?${query}`);
  const attacks = [...page.data];
  let pages = 1;
  while (page.links.next !== null && attacks.length < limit) {
    // Links name the public URL; the next page is requested from the same URL as the first.
    const { pathname, search } = new URL(page.links.next);
    page = await loadPage(options, `${pathname}${search}`);
    attacks.push(...page.data);
    pages++;
  }
  return { attacks, meta: page.meta, pages };
}

async function loadPage(options: AttackOptions, path: string): Promise<Page> {
  const page = (await callApi(options, 'GET', path)) as Page | null;
  if (page === null) throw unavailable('the response of control was cut off');
  return page;
}

export function attackQuery({
  ip,
  prefix,
  asn,
  from,
  to,
  ongoing,
}: AttackOptions): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ip, prefix, asn })) {
    if (value !== undefined) query.set(name, value);
  }
  if (from !== undefined) query.set('from', parseMoment(from, '--from'));
  if (to !== undefined) query.set('to', parseMoment(to, '--to'));
  if (ongoing === true) query.set('ongoing', 'true');
  return query;
}
