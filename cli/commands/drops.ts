import { setTimeout as delay } from 'node:timers/promises';
import { callApi } from '../api.ts';
import { parseDuration } from '../options.ts';
import { print, printJson, printTable, styled } from '../output.ts';
import type { DropsOptions } from '../program/drops.ts';

interface Cause {
  readonly stage: string;
  readonly reason: string;
  readonly by: string;
}
interface Count {
  readonly packets: number;
  readonly bytes: number;
}
interface Sample extends Cause {
  readonly at: string;
  readonly edge: string;
  readonly source_ip: string;
  readonly source_port: number | null;
  readonly destination_port: number | null;
  readonly protocol: number;
  readonly length: number;
  readonly device: string | null;
}
interface Drops {
  readonly data: {
    readonly ip: string;
    readonly observed: Count;
    readonly totals: readonly (Cause & Count)[];
    readonly prefixes: readonly (Cause & Count & { readonly prefix: string })[];
    readonly series: readonly (Count & { readonly at: string })[];
    readonly samples: readonly Sample[];
  };
  readonly meta: Count & {
    readonly from: string;
    readonly to: string;
    readonly from_clamped: boolean;
    readonly edges: readonly string[];
  };
}

/** Edges report with their heartbeats, every 15 s; more often than that, nothing is new. */
const WATCH_MS = 5_000;
const SAMPLES_SHOWN = 20;

/** `portcullis drops IP`. */
export async function showDrops(ip: string, options: DropsOptions): Promise<void> {
  const drops = await ask(ip, options);
  if (options.watch === true) return watch(ip, options, drops);
  if (options.json === true) printJson(drops);
  else await describe(drops);
}

async function ask(ip: string, options: DropsOptions): Promise<Drops> {
  const query = new URLSearchParams();
  const { from, to, edge } = options;
  if (from !== undefined) query.set('from', momentOf(from, '--from'));
  if (to !== undefined) query.set('to', momentOf(to, '--to'));
  if (edge !== undefined) query.set('edge', edge);
  const path = `/api/x1/firewall/ips/${encodeURIComponent(ip)}/drops?${query}`;
  return (await callApi(options, 'GET', path)) as Drops;
}

/** A moment as it is, or a length of time before now. */
function momentOf(text: string, option: string): string {
  if (!/^\d+(?:ms|s|m|h)$/.test(text)) return text;
  const hours = /^(\d{1,2})h$/.exec(text);
  const agoMs =
    hours === null
      ? parseDuration(text, option)
      : parseDuration(`${Number(hours[1]) * 60}m`, option);
  return new Date(Date.now() - agoMs).toISOString();
}

async function describe({ data, meta }: Drops): Promise<void> {
  const since = meta.from_clamped ? ' (no earlier is kept or was yours)' : '';
  const what = meta.packets === 0 ? 'nothing was dropped' : counted(meta);
  print(`${styled('bold', data.ip)}: ${what} from ${meta.from}${since} to ${meta.to}`);
  if (meta.edges.length > 0) print(`by ${meta.edges.join(', ')}`);
  if (data.totals.length > 0) {
    print();
    await printTable(
      ['STAGE', 'REASON', 'BY', 'PACKETS', 'BYTES'],
      data.totals.map((one) => [
        one.stage,
        one.reason,
        one.by,
        String(one.packets),
        String(one.bytes),
      ]),
    );
  }
  for (const { prefix, ...one } of data.prefixes) {
    print(`and of ${prefix} as a whole: ${counted(one)}, ${nameOf(one)}`);
  }
  if (data.observed.packets > 0) {
    print(`mitigations that only observe would have dropped ${counted(data.observed)}`);
  }
  const peak = data.series.toSorted((a, b) => b.packets - a.packets)[0];
  if (peak !== undefined) {
    print();
    print(`worst minute: ${peak.at}, ${counted(peak)}`);
  }
  if (data.samples.length === 0) return;
  print();
  await printTable(
    ['AT', 'EDGE', 'FROM', 'TO PORT', 'PROTOCOL', 'LENGTH', 'DEVICE', 'REASON'],
    data.samples.slice(0, SAMPLES_SHOWN).map(sampleRow),
  );
  const more = data.samples.length - SAMPLES_SHOWN;
  if (more > 0) print(`and ${more} more samples: --json has them`);
}

/** Prints what came since the last look, until the process is interrupted or control refuses. */
async function watch(ip: string, options: DropsOptions, first: Drops): Promise<void> {
  let before: Drops | null = null;
  for (let now = first; ; now = await ask(ip, options)) {
    if (options.json === true) process.stdout.write(`${JSON.stringify(now)}\n`);
    else for (const line of newsOf(before, now)) print(line);
    before = now;
    await delay(WATCH_MS);
  }
}

/** Pure: one line a reason that grew, then new samples. The first look tells everything. */
export function newsOf(before: Drops | null, now: Drops): string[] {
  const known = new Map((before?.data.totals ?? []).map((one) => [nameOf(one), one.packets]));
  const grown = now.data.totals.flatMap((one) => {
    const more = one.packets - (known.get(nameOf(one)) ?? 0);
    return more > 0 ? [`${now.meta.to}  +${more} packets  ${nameOf(one)}`] : [];
  });
  const seen = new Set((before?.data.samples ?? []).map((one) => JSON.stringify(one)));
  const samples = now.data.samples.filter((one) => !seen.has(JSON.stringify(one)));
  return [
    ...grown,
    ...samples
      .slice(0, SAMPLES_SHOWN)
      .toReversed()
      .map((one) => `  ${sampleRow(one).join('  ')}`),
  ];
}

const PROTOCOLS: Readonly<Record<number, string>> = {
  1: 'icmp',
  6: 'tcp',
  17: 'udp',
  47: 'gre',
  50: 'esp',
  58: 'icmpv6',
};

function sampleRow(sample: Sample): string[] {
  const { source_ip: ip, source_port: port } = sample;
  return [
    sample.at,
    sample.edge,
    port === null ? ip : ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`,
    sample.destination_port === null ? '-' : String(sample.destination_port),
    PROTOCOLS[sample.protocol] ?? String(sample.protocol),
    String(sample.length),
    sample.device ?? '-',
    nameOf(sample),
  ];
}

function nameOf({ stage, reason, by }: Cause): string {
  return `${stage} ${reason} (${by})`;
}

function counted({ packets, bytes }: Count): string {
  return `${packets} packets (${bytes} bytes)`;
}
