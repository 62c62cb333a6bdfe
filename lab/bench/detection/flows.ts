import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { Aggregate } from '@portcullis/collector/aggregate/aggregate.ts';
import { decode } from '@portcullis/collector/decode/decode.ts';
import { Exporter } from '@portcullis/collector/exporter/exporter.ts';
import type { FlowRecord } from '@portcullis/core/attacks/flow-record.ts';
import { LOAD_FORMATS, type Load, type LoadFormat, loadOf } from '../../flows/load.ts';
import { Network, type Namespace } from '../../stack/netns.ts';
import { missing } from '../../requirements.ts';
import { detectorRows } from './detector.ts';
import { median } from '../measure.ts';
import type { Bench, Row } from '../report.ts';
import { within } from '../within.ts';

const ROUNDS = 3;
const ROUND_RECORDS = 400_000;
const RATES: Readonly<Record<LoadFormat, number>> = {
  'sFlow 5': 8000,
  'NetFlow 5': 5000,
  'NetFlow 9': 5000,
  IPFIX: 5000,
};
const SECONDS = 4;
const PORT = 9000;
const TICKS_PER_SECOND = 100;
const ROOT = join(import.meta.dirname, '..', '..', '..');

/** How many records of flows a core reads in a second, and how many destinations it judges. */
export const flowsBench: Bench = {
  name: 'flows',
  missing: () => missing(['root', 'netns', 'flow-exporters']),
  run: async (say) => {
    const rows: Row[] = [];
    for (const format of LOAD_FORMATS) {
      const load = loadOf(format);
      rows.push(plain(`${format}: records decoded a second on a core`, decodeRate(load, false)));
      rows.push(
        plain(`${format}: records decoded and added up a second on a core`, decodeRate(load, true)),
      );
      rows.push(await beside(format, load, say));
      for (const { name, value } of rows.slice(-3)) say(`${name}: ${Math.round(value)}`);
    }
    return [...rows, ...detectorRows()];
  },
};

function plain(name: string, value: number): Row {
  return { name, value, unit: 'records/s', baseline: null, goal: null };
}

/** The rate by the CPU time of this process, the median of rounds; the first warms up. */
function decodeRate({ datagrams, recordsEach }: Load, adds: boolean): number {
  const aggregate = new Aggregate({
    prefixes: null,
    addresses: 131_072,
    seed: 1,
    detail: { packets: 300, bytes: 1_000_000 },
    nowMs: 0,
  });
  const exporter = new Exporter('192.0.2.1');
  let nowMs = 0;
  const emit = adds ? (record: FlowRecord) => aggregate.add(record, nowMs) : () => {};
  const rates: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const before = exporter.counters.records;
    const begin = process.cpuUsage();
    for (let sent = 0; sent * recordsEach < ROUND_RECORDS; sent++) {
      decode(datagrams[sent % datagrams.length] as Buffer, { exporter, port: 0, nowMs, emit });
      if (sent % 1000 !== 999) continue;
      if (adds) aggregate.close(0, 250);
      nowMs += 250;
    }
    const { user, system } = process.cpuUsage(begin);
    if (round > 0) rates.push((exporter.counters.records - before) / ((user + system) / 1e6));
  }
  return median(rates);
}

/** The whole collector and nfdump's, each by its own CPU time, on the same datagrams through the same kernel. */
async function beside(format: LoadFormat, load: Load, say: (line: string) => void): Promise<Row> {
  const network = new Network('flowbench');
  const folder = mkdtempSync(join(tmpdir(), 'pcl-flowbench-'));
  try {
    const where = network.create('host');
    const ours = await oursUnder(where, format);
    const theirs = await theirsUnder(where, format, load, folder);
    say(`${format}: ours read ${ours.records} records, nfdump's ${theirs.records}`);
    const name = `${format}: records a second of CPU, socket to sample, beside nfdump's collector, socket to file`;
    const rate = ({ records, seconds }: Used): number => records / seconds;
    return { ...plain(name, rate(ours)), baseline: rate(theirs) };
  } finally {
    network.destroy();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Used {
  readonly records: number;
  readonly seconds: number;
}

async function oursUnder(where: Namespace, format: LoadFormat): Promise<Used> {
  const collector = where.spawn(
    [
      process.execPath,
      join(ROOT, 'cli', 'main.ts'),
      'collector',
      '--json',
      '--top=0',
      `--listen=127.0.0.1:${PORT}`,
      '--exporter=127.0.0.1',
    ],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  let records = 0;
  const lines = createInterface({ input: collector.stdout as Readable });
  lines.on('line', (line) => {
    records = (JSON.parse(line) as { counters: { records: number } }).counters.records;
  });
  await within(20_000, 'the collector does not tell', once(lines, 'line'));
  const begin = cpuSeconds(collector);
  await send(where, format);
  // What came is in the line after the next.
  await once(lines, 'line');
  await once(lines, 'line');
  const used = { records, seconds: cpuSeconds(collector) - begin };
  await ended(collector);
  return used;
}

async function theirsUnder(
  where: Namespace,
  format: LoadFormat,
  { recordsEach }: Load,
  folder: string,
): Promise<Used> {
  const program = format === 'sFlow 5' ? 'sfcapd' : 'nfcapd';
  const args = ['-b', '127.0.0.1', '-p', String(PORT), '-w', folder, '-t', '3600', '-B', '4000000'];
  const capture = where.spawn([program, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  const started = new Promise<void>((resolve) => {
    capture.stderr?.on('data', (text: Buffer) => {
      said += text.toString();
      if (said.includes('Startup')) resolve();
    });
  });
  await within(20_000, `${program} did not start`, started);
  const begin = cpuSeconds(capture);
  await send(where, format);
  const seconds = cpuSeconds(capture) - begin;
  await ended(capture);
  const flows = Number(/Flows: (\d+)/.exec(said)?.[1] ?? Number.NaN);
  return { records: Number.isFinite(flows) ? flows : recordsEach, seconds };
}

async function send(where: Namespace, format: LoadFormat): Promise<void> {
  const script = join(ROOT, 'lab', 'flows', 'load-process.ts');
  const [program, ...args] = where.command(
    process.execPath,
    script,
    format,
    String(PORT),
    String(RATES[format]),
    String(SECONDS),
  );
  const child = spawn(program, args, { stdio: 'inherit' });
  await within(60_000, 'the load does not end', once(child, 'exit'));
}

async function ended(child: ChildProcess): Promise<void> {
  const gone = once(child, 'close');
  child.kill('SIGTERM');
  await within(20_000, 'it does not end', gone);
}

/** User and system time of a process so far. Source: proc(5), stat. */
function cpuSeconds({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
