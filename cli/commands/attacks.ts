import { setTimeout as delay } from 'node:timers/promises';
import { formatBps, formatPps } from '@portcullis/core/attacks/format.ts';
import { callApi } from '../api.ts';
import { usageError } from '../exit.ts';
import { print, printJson, printTable, styled } from '../output.ts';
import type { AttackListOptions } from '../program/attacks.ts';

interface Attack {
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
    readonly action: string;
    readonly mode: string;
    readonly since: string;
    readonly until: string | null;
    readonly ended_because: string | null;
  }[];
  readonly cancelled_at: string | null;
  readonly evidence: Evidence | null;
}
interface Bounds {
  readonly low: number;
  readonly high: number;
}
interface Evidence {
  readonly detected_after_ms: number;
  readonly mitigated_after_ms: number | null;
  readonly shares: readonly { readonly attack_type: string; readonly share: number }[];
  readonly peak_pps_bounds: Bounds | null;
  readonly top_sources: readonly { readonly source_ip: string; readonly packets: number }[];
  readonly top_source_ports: readonly { readonly port: number; readonly packets: number }[];
  readonly top_destination_ports: readonly { readonly port: number; readonly packets: number }[];
  readonly series: { readonly step_ms: number; readonly pps: readonly number[] } | null;
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 100_000;
const PER_PAGE = 100;
/** Records keep up with their attacks each second. */
const WATCH_MS = 1_000;
/** Attacks that a watch remembers. */
const MAX_WATCHED = 10_000;

/** `portcullis attacks list`. */
export async function listAttacks(options: AttackListOptions): Promise<void> {
  const limit = limitOf(options.limit);
  const query = queryOf(options);
  query.set('per_page', String(Math.min(limit, PER_PAGE)));
  let page = await ask(options, `/api/v1/attacks?${query}`);
  const attacks = [...page.data];
  while (page.links.next !== null && attacks.length < limit) {
    // By the address that was asked, wherever links say that the service is.
    const { pathname, search } = new URL(page.links.next);
    page = await ask(options, `${pathname}${search}`);
    attacks.push(...page.data);
  }
  const shown = attacks.slice(0, limit);
  const { meta } = page;
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

function describe({ attack, mitigations, cancelled_at: cancelledAt, evidence }: Detail): void {
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
    print(`from ports  ${top(evidence.top_source_ports.map((one) => String(one.port)))}`);
    print(`to ports    ${top(evidence.top_destination_ports.map((one) => String(one.port)))}`);
    if (evidence.series !== null) print(`traffic     ${sparkline(evidence.series.pps)}`);
  }
  for (const one of mitigations) {
    const ended = one.until === null ? '' : ` until ${one.until} (${one.ended_because ?? 'ended'})`;
    print(
      `${one.mode === 'observe' ? 'observed   ' : 'done       '} ${one.action}, since ${one.since}${ended}`,
    );
  }
  if (cancelledAt !== null) print(`cancelled   ${cancelledAt}: nothing is done against it`);
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

/** `portcullis attacks watch`: until it is interrupted, or control refuses. */
export async function watchAttacks(options: AttackListOptions): Promise<void> {
  let known = new Map<number, Attack>();
  for (;;) {
    const query = queryOf(options);
    query.set('from', new Date(Date.now() - 600_000).toISOString());
    query.set('per_page', String(PER_PAGE));
    const { data } = await ask(options, `/api/v1/attacks?${query}`);
    const news = newsOf(known, data);
    for (const { attack, line } of news) {
      if (options.json === true) process.stdout.write(`${JSON.stringify(attack)}\n`);
      else print(line);
    }
    known = new Map([...known, ...data.map((one) => [one.id, one] as const)].slice(-MAX_WATCHED));
    await delay(WATCH_MS);
  }
}

/** Pure: what is new of each attack, oldest first, in words. */
export function newsOf(
  known: ReadonlyMap<number, Attack>,
  now: readonly Attack[],
): { readonly attack: Attack; readonly line: string }[] {
  return now.toReversed().flatMap((attack) => {
    const what = changeOf(known.get(attack.id) ?? null, attack);
    if (what === null) return [];
    const { id, destination_ip: ip, attack_type: type } = attack;
    const peak = `${formatPps(attack.peak_pps)}, ${formatBps(attack.peak_bps)}`;
    return [{ attack, line: `${id}  ${ip}  ${type}  ${what}  ${peak}` }];
  });
}

function changeOf(before: Attack | null, attack: Attack): string | null {
  if (before === null) return attack.ended_at === null ? 'began' : 'ended before';
  if (before.ended_at === null && attack.ended_at !== null) return 'ended';
  if (before.ended_at !== null && attack.ended_at === null) return 'goes on';
  if (before.mitigated_at === null && attack.mitigated_at !== null) return 'mitigated';
  const rises =
    attack.peak_pps > before.peak_pps ||
    attack.peak_bps > before.peak_bps ||
    attack.attack_type !== before.attack_type;
  return rises ? 'rises' : null;
}

async function ask(options: AttackListOptions, path: string): Promise<Page> {
  return (await callApi(options, 'GET', path)) as Page;
}

function queryOf(options: AttackListOptions): URLSearchParams {
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
