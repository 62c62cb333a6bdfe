import { formatPps } from '@portcullis/core/attacks/format.ts';
import { callApi } from '../api.ts';
import { unavailable, usageError } from '../exit.ts';
import { print, printJson, printTable, styled } from '../output.ts';
import type { AttackListOptions } from '../program/attacks.ts';

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
interface Page {
  readonly data: readonly Attack[];
  readonly links: { readonly next: string | null };
  readonly meta: { readonly total: number; readonly from: string; readonly from_clamped: boolean };
}
interface Detail {
  readonly attack: Attack;
  readonly mitigations: readonly {
    readonly edge: string | null;
    readonly action: string;
    readonly mode: string;
    readonly since: string;
    readonly until: string | null;
    readonly ended_because: string | null;
  }[];
  readonly dropped: Counted;
  readonly would_drop: Counted;
  readonly cancelled_at: string | null;
  readonly evidence: Evidence | null;
}
interface Counted {
  readonly packets: number;
  readonly bytes: number;
}
interface Bounds {
  readonly low: number;
  readonly high: number;
}
interface TopPort {
  readonly port: number;
  readonly protocol: string | null;
  readonly packets: number;
}
interface Evidence {
  readonly detected_after_ms: number;
  readonly mitigated_after_ms: number | null;
  readonly shares: readonly { readonly attack_type: string; readonly share: number }[];
  readonly peak_pps_bounds: Bounds | null;
  readonly top_sources: readonly { readonly source_ip: string; readonly packets: number }[];
  readonly top_source_ports: readonly TopPort[];
  readonly top_destination_ports: readonly TopPort[];
  readonly series: { readonly step_ms: number; readonly pps: readonly number[] } | null;
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 100_000;
const PER_PAGE = 100;

/** `portcullis attacks list`. */
export async function listAttacks(options: AttackListOptions): Promise<void> {
  const limit = limitOf(options.limit);
  const query = queryOf(options);
  const { attacks, meta } = await askAll(options, query, limit);
  const shown = attacks.slice(0, limit);
  if (options.json === true) {
    printJson({ attacks: shown, total: meta.total, from: meta.from });
    return;
  }
  if (shown.length === 0) print(`No attacks since ${meta.from}.`);
  else await printTable(HEADS, shown.map(rowOf));
  if (meta.total > shown.length) print(`and ${meta.total - shown.length} more: --limit`);
  if (meta.from_clamped) print(`No earlier than ${meta.from} is kept or was yours.`);
}

const HEADS = ['ID', 'TARGET', 'TYPE', 'PEAK', '', 'STARTED', 'LASTED', 'STATUS'];

function rowOf(attack: Attack): string[] {
  return [
    String(attack.id),
    attack.destination_ip,
    attack.attack_type,
    attack.peak_pps_formatted,
    attack.peak_bps_formatted,
    attack.started_at,
    `${attack.duration_seconds} s`,
    attack.mitigated_at === null ? attack.status : `${attack.status}, mitigated`,
  ];
}

/** `portcullis attacks show ID`. */
export async function showAttack(id: string, options: AttackListOptions): Promise<void> {
  if (!/^[1-9][0-9]{0,15}$/.test(id)) throw usageError(`an attack has a whole number, not ${id}`);
  const { data } = (await callApi(options, 'GET', `/api/x1/attacks/${id}`)) as { data: Detail };
  if (options.json === true) printJson(data);
  else describe(data);
}

function describe(detail: Detail): void {
  const { attack, mitigations, cancelled_at: cancelledAt, evidence } = detail;
  const { prefix, status } = attack;
  print(
    `${styled('bold', `attack ${attack.id}`)} on ${attack.destination_ip} (${prefix}): ${status}`,
  );
  print(`type        ${attack.attack_type}${sharesOf(evidence)}`);
  print(
    `peak        ${attack.peak_pps_formatted}, ${attack.peak_bps_formatted}${errorOf(evidence)}`,
  );
  const until = attack.ended_at ?? 'goes on';
  print(`time        ${attack.started_at} to ${until}, ${attack.duration_seconds} s`);
  if (evidence !== null) {
    const mitigated =
      evidence.mitigated_after_ms === null
        ? 'not mitigated'
        : `mitigated ${evidence.mitigated_after_ms} ms later`;
    print(`detected    after ${evidence.detected_after_ms} ms, ${mitigated}`);
    const top = (list: readonly string[]): string =>
      list.length === 0 ? 'not known' : list.join(', ');
    print(`sources     ${top(evidence.top_sources.map((one) => one.source_ip))}`);
    print(`from ports  ${top(evidence.top_source_ports.map(portText))}`);
    print(`to ports    ${top(evidence.top_destination_ports.map(portText))}`);
    if (evidence.series !== null) print(`traffic     ${sparkline(evidence.series.pps)}`);
  }
  for (const one of mitigations) {
    const by = one.edge === null ? '' : ` by ${one.edge} alone`;
    const ended = one.until === null ? '' : ` until ${one.until} (${one.ended_because ?? 'ended'})`;
    print(
      `${one.mode === 'observe' ? 'observed   ' : 'done       '} ${one.action}${by}, since ${one.since}${ended}`,
    );
  }
  if (detail.dropped.packets > 0) print(`dropped     ${countedText(detail.dropped)}`);
  if (detail.would_drop.packets > 0) {
    print(`would drop  ${countedText(detail.would_drop)}; mitigation: on drops them`);
  }
  if (cancelledAt !== null) print(`cancelled   ${cancelledAt}: nothing is done against it`);
}

function countedText({ packets, bytes }: Counted): string {
  return `${packets} packets, ${bytes} bytes, as far as edges have told`;
}

function portText({ port, protocol }: TopPort): string {
  return protocol === null ? String(port) : `${protocol} ${port}`;
}

function sharesOf(evidence: Evidence | null): string {
  const shares = evidence?.shares ?? [];
  if (shares.length < 2) return '';
  const parts = shares.map((one) => `${one.attack_type} ${Math.round(one.share * 100)} %`);
  return `: ${parts.join(', ')}`;
}

function errorOf(evidence: Evidence | null): string {
  const bounds = evidence?.peak_pps_bounds ?? null;
  if (bounds === null || bounds.low === bounds.high) return '';
  return ` (between ${formatPps(bounds.low)} and ${formatPps(bounds.high)})`;
}

const BARS = '▁▂▃▄▅▆▇█';
const SPARK_WIDTH = 60;

/** Pure: rates as bars, the largest of each part. */
export function sparkline(rates: readonly number[]): string {
  const width = Math.min(SPARK_WIDTH, rates.length);
  const most = Math.max(1, ...rates);
  return Array.from({ length: width }, (_, index) => {
    const part = rates.slice(
      Math.floor((index * rates.length) / width),
      Math.floor(((index + 1) * rates.length) / width),
    );
    const height = Math.round((Math.max(0, ...part) / most) * (BARS.length - 1));
    return BARS[height] ?? '';
  }).join('');
}

/** Every page that is needed for so many attacks, of one moment: whatever begins meanwhile, none is missed. */
export async function askAll(options: AttackListOptions, query: URLSearchParams, limit: number) {
  query.set('per_page', String(Math.min(limit, PER_PAGE)));
  let page = await ask(options, `/api/v1/attacks?${query}`);
  const attacks = [...page.data];
  let pages = 1;
  while (page.links.next !== null && attacks.length < limit) {
    // By the address that was asked, wherever links say that the service is.
    const { pathname, search } = new URL(page.links.next);
    page = await ask(options, `${pathname}${search}`);
    attacks.push(...page.data);
    pages++;
  }
  return { attacks, meta: page.meta, pages };
}

async function ask(options: AttackListOptions, path: string): Promise<Page> {
  const page = (await callApi(options, 'GET', path)) as Page | null;
  if (page === null) throw unavailable('the answer of control broke off');
  return page;
}

export function queryOf(options: AttackListOptions): URLSearchParams {
  const query = new URLSearchParams();
  const { ip, prefix, asn, from, to, ongoing } = options;
  for (const [name, value] of Object.entries({ ip, prefix, asn })) {
    if (value !== undefined) query.set(name, value);
  }
  if (from !== undefined) query.set('from', momentOf(from));
  if (to !== undefined) query.set('to', momentOf(to));
  if (ongoing === true) query.set('ongoing', 'true');
  return query;
}

const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** A moment as it is, or a length of time before now. */
function momentOf(text: string): string {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count === undefined) return text;
  return new Date(Date.now() - Number(count) * (UNITS_MS[unit] ?? 0)).toISOString();
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = Number(text);
  if (!/^[1-9][0-9]*$/.test(text) || limit > MAX_LIMIT) {
    throw usageError(`--limit ${text} is not a whole number from 1 to ${MAX_LIMIT}`);
  }
  return limit;
}
