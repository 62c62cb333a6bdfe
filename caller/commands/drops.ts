import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { countOf } from '@portcullis/core/count.ts';
import type { Drops } from '@portcullis/client/generated/operations.ts';
import { connect } from '../connect.ts';
import { type CallOptions, parseMoment, withCallOptions } from '../options.ts';
import { localTime, print, printJson, printTable, styled } from '../output.ts';

interface DropsOptions extends CallOptions {
  readonly from?: string;
  readonly to?: string;
  readonly edge?: string;
  readonly watch?: boolean;
}

export function addDrops(program: Command): void {
  withCallOptions(
    program
      .command('drops')
      .description('packets to an address that edges dropped: by reason, with samples')
      .argument('<ip>', 'the protected address')
      .option(
        '--from <time>',
        'ISO 8601 with an offset, or a time before now, such as 90m (default: a day)',
      )
      .option('--to <time>', 'in the same form (default: now)')
      .option('--edge <name>', 'only drops of this edge')
      .option('--watch', 'print new drops every few seconds, until interrupted'),
  )
    .addHelpText(
      'after',
      `
  portcullis drops 203.0.113.10
  portcullis drops 203.0.113.10 --from 30m --edge fra1
  portcullis drops 2001:db8::10 --watch
  portcullis drops 203.0.113.10 --json | jq .meta.packets

With --json --watch: one JSON document per line.`,
    )
    .action(showDrops);
}

type Sample = Drops['data']['samples'][number];
type Cause = Pick<Sample, 'stage' | 'reason' | 'by'>;
type Count = Pick<Drops['meta'], 'packets' | 'bytes'>;

/** Edges report every 15 s, with their heartbeats. */
const WATCH_MS = 5_000;
const SAMPLES_SHOWN = 20;
const MAX_AGO_MS = 24 * 3_600_000;

async function showDrops(ip: string, options: DropsOptions): Promise<void> {
  const drops = await loadDrops(ip, options);
  if (options.watch === true) return watch(ip, options, drops);
  if (options.json === true) printJson(drops.data, drops);
  else await describe(drops);
}

async function loadDrops(ip: string, options: DropsOptions): Promise<Drops> {
  const { from, to, edge } = options;
  const query = {
    ...(from !== undefined && { from: parseMoment(from, '--from', MAX_AGO_MS) }),
    ...(to !== undefined && { to: parseMoment(to, '--to', MAX_AGO_MS) }),
    ...(edge !== undefined && { edge }),
  };
  const { data, meta } = await connect(options).readDrops({ ip, query });
  return { data, meta };
}

async function describe({ data, meta }: Drops): Promise<void> {
  const since = meta.from_clamped ? ' (nothing earlier is stored or visible to this key)' : '';
  const what = meta.packets === 0 ? 'nothing was dropped' : formatCount(meta);
  print(
    `${styled('bold', data.ip)}: ${what} from ${localTime(meta.from)}${since} to ${localTime(meta.to)}`,
  );
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
    print(`and of the whole of ${prefix}: ${formatCount(one)}, ${nameOf(one)}`);
  }
  if (data.observed.packets > 0) {
    print(`observing mitigations would have dropped ${formatCount(data.observed)}`);
  }
  const { greeted, validated } = data.filters;
  if (greeted + validated > 0) {
    print(`filters let ${greeted} packets of new sources pass, and validated ${validated} sources`);
  }
  const peak = data.series.toSorted((a, b) => b.packets - a.packets)[0];
  if (peak !== undefined) {
    print();
    print(`minute with the most drops: ${localTime(peak.at)}, ${formatCount(peak)}`);
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

/** Prints new drops until the process is interrupted or control refuses. */
async function watch(ip: string, options: DropsOptions, first: Drops): Promise<void> {
  let before: Drops | null = null;
  for (let now = first; ; now = await loadDrops(ip, options)) {
    if (options.json === true) process.stdout.write(`${JSON.stringify(now)}\n`);
    else for (const line of newDrops(before, now)) print(line);
    before = now;
    await delay(WATCH_MS);
  }
}

/** Pure: one line per reason with more drops than before, then the new samples. */
export function newDrops(before: Drops | null, now: Drops): string[] {
  const known = new Map((before?.data.totals ?? []).map((one) => [nameOf(one), one.packets]));
  const grown = now.data.totals.flatMap((one) => {
    const more = one.packets - (known.get(nameOf(one)) ?? 0);
    return more > 0 ? [`${localTime(now.meta.to)}  +${more} packets  ${nameOf(one)}`] : [];
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
export function protocolName(number: number): string {
  return PROTOCOLS[number] ?? String(number);
}

function sampleRow(sample: Sample): string[] {
  const { source_ip: ip, source_port: port } = sample;
  return [
    localTime(sample.at),
    sample.edge,
    port === null ? ip : ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`,
    sample.destination_port === null ? '-' : String(sample.destination_port),
    protocolName(sample.protocol),
    String(sample.length),
    sample.device ?? '-',
    nameOf(sample),
  ];
}

function nameOf({ stage, reason, by }: Cause): string {
  return `${stage} ${reason} (${by})`;
}

function formatCount({ packets, bytes }: Count): string {
  return `${countOf(packets, 'packet')} (${countOf(bytes, 'byte')})`;
}
