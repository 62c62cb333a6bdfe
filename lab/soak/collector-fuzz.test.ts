import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { it, type TestContext } from 'node:test';
import {
  addressBytes,
  message,
  set,
  templateSet,
} from '@portcullis/collector/testing/datagrams.ts';
import { freePort } from '@portcullis/cli/testing/free-port.ts';
import { eventually } from '../system/stack-fixture.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'cli', 'main.ts');
const FUZZ = join(import.meta.dirname, '..', 'flows', 'fuzz-process.ts');
/** The one that sends what it likes, one beside it, and one that is not listed. */
const [FUZZED, OTHER, UNKNOWN] = ['127.0.0.1', '127.0.0.3', '127.0.0.2'] as const;
const TARGETS = { [FUZZED]: '198.51.100.1', [OTHER]: '198.51.100.3', [UNKNOWN]: '198.51.100.2' };
const READ = 200_000;
/** After so many the process is warm: what is remembered by then is as much as ever. */
const WARM = 50_000;
const RATE = 12_000;
const FUZZ_MS = 180_000;
/** A forged record of long ago makes others of its exporter wait for so long. */
const COUNTED_MS = 30_000;
const MAX_GROWTH_MB = 120;
const MAX_HEAP_MB = 128;
const PACKETS = 12_345;
const RECORDS = 20;

interface Line {
  readonly seconds: number;
  readonly top: readonly { readonly ip: string; readonly pps: number }[];
  readonly counters: Readonly<Record<string, number>>;
}

it('a running collector that reads 200,000 fuzzed datagrams neither ends nor grows, and counts rightly afterwards', async (t) => {
  const port = await freePort();
  const { child, lines } = await collector(t, port);
  const count = (name: string): number => lines.at(-1)?.counters[name] ?? 0;
  const fuzz = spawn(process.execPath, [FUZZ, FUZZED, String(port), String(RATE), '7'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  t.after(() => fuzz.kill('SIGKILL'));
  await eventually('it is warm', async () => count('datagrams') >= WARM, FUZZ_MS);
  const warmMb = residentMb(child);
  await eventually('it has read enough', async () => count('datagrams') >= READ, FUZZ_MS);
  const gone = once(fuzz, 'exit');
  fuzz.kill('SIGKILL');
  await gone;
  assert.equal(child.exitCode ?? child.signalCode, null);
  const grownMb = residentMb(child) - warmMb;
  t.diagnostic(
    `${count('datagrams')} read, ${Math.round(warmMb)} MB, then ${Math.round(grownMb)} more`,
  );
  assert.ok(grownMb <= MAX_GROWTH_MB, `${grownMb} MB more`);
  assert.ok(count('malformed') > READ / 20 && count('records') > READ / 20);
  assert.ok(count('withoutTemplate') > READ / 20);
  // What comes while its buffer is full is lost, right or not.
  const isDrained = async (): Promise<boolean> =>
    lines.length > 2 && lines.at(-2)?.counters['datagrams'] === count('datagrams');
  const linesThen = lines.length;
  await eventually(
    'it has read all',
    async () => lines.length >= linesThen + 3 && isDrained(),
    FUZZ_MS,
  );
  const ignored = count('unknownExporters');
  for (const from of [FUZZED, OTHER, UNKNOWN] as const) await exportFrom(from, port);
  const counted = (from: keyof typeof TARGETS): number => packetsTo(lines, TARGETS[from]);
  const isCounted = async (): Promise<boolean> => counted(FUZZED) > 0 && counted(OTHER) > 0;
  await eventually('right exports count', isCounted, COUNTED_MS);
  await eventually(
    'the unknown exporter is noticed',
    async () => count('unknownExporters') > ignored,
  );
  assert.deepEqual([counted(FUZZED), counted(OTHER)], [PACKETS * RECORDS, PACKETS * RECORDS]);
  assert.equal(counted(UNKNOWN), 0);
});

async function collector(
  t: TestContext,
  port: number,
): Promise<{ readonly child: ChildProcess; readonly lines: readonly Line[] }> {
  const child = spawn(
    process.execPath,
    [
      MAIN,
      'collector',
      '--json',
      '--top=1000',
      `--listen=127.0.0.1:${port}`,
      `--exporter=${FUZZED}`,
      `--exporter=${OTHER}`,
      '--pps=999999999',
      '--mbps=999999999',
    ],
    {
      // It ends where it would need more.
      env: { ...process.env, NODE_OPTIONS: `--max-old-space-size=${MAX_HEAP_MB}` },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  t.after(() => child.kill('SIGKILL'));
  const lines: Line[] = [];
  const output = createInterface({ input: child.stdout });
  output.on('line', (line) => lines.push(JSON.parse(line) as Line));
  await once(output, 'line');
  return { child, lines };
}

/** A template of its own, and so many records, at once. */
async function exportFrom(from: keyof typeof TARGETS, port: number): Promise<void> {
  const socket = createSocket('udp4').bind(0, from);
  await once(socket, 'listening');
  const specs = [
    [8, 4],
    [12, 4],
    [4, 1],
    [1, 4],
    [2, 4],
  ] as const;
  const records = Array.from({ length: RECORDS }, () =>
    set(
      300,
      addressBytes('192.0.2.9'),
      addressBytes(TARGETS[from]),
      [17, 1],
      [PACKETS * 100, 4],
      [PACKETS, 4],
    ),
  );
  const datagram = message(9, [templateSet(9, 300, specs), ...records], { domain: 77 });
  await new Promise<void>((sent) => socket.send(datagram, port, '127.0.0.1', () => sent()));
  socket.close();
}

/** Packets by the rates of all lines, each over its own time. */
function packetsTo(lines: readonly Line[], ip: string): number {
  return lines.reduce((sum, { seconds, top }) => {
    const rate = top.find((one) => one.ip === ip)?.pps ?? 0;
    return sum + Math.round(rate * seconds);
  }, 0);
}

function residentMb({ pid }: ChildProcess): number {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}
