import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { within } from '../../bench/within.ts';
import { REAL_EXPORTERS, type RealExporter, startExporter } from '../../flows/exporters.ts';
import { keyOf, type Totals, TwoReaders } from '../../flows/readers.ts';
import { Network, type Namespace } from '../../stack/netns.ts';
import { require } from '../../requirements.ts';
import { eventually } from '../stack-fixture.ts';

const CLIENT = { 4: '10.9.0.1', 6: 'fd09::1' } as const;
const HOST = { 4: '10.9.0.2', 6: 'fd09::2' } as const;
const TALK = join(import.meta.dirname, '..', '..', 'flows', 'talk-process.ts');
const SERVICE_PORT = 5000;
const EXPORT_PORT = 9000;
const IDLE_MS = 2000;
const DATAGRAMS = 400;
const BYTES = { 4: 400, 6: 700 } as const;
/** Bytes of an IP and a UDP header. */
const HEADERS = { 4: 28, 6: 48 } as const;
/** nfdump counts sFlow frames including their checksums; the collector counts IP packets. */
const FRAME_BYTES = 18;

/** An exporter on a loaded machine may miss packets, but both readers must read its reports alike. */
const ATTEMPTS = 3;
const WHOLE_MS = 5000;

describe('a real exporter', () => {
  for (const exporter of REAL_EXPORTERS) {
    it(`is read as nfdump reads it, and tells what was sent: ${exporter.name}`, async (t) => {
      if (!require(t, ['root', 'netns', 'flow-exporters'])) return;
      const place = prepare(t);
      for (let attempt = 1; ; attempt += 1) {
        const { totals, isWhole } = await bothRead(t, exporter, place, `capture-${attempt}`);
        if (isWhole || attempt === ATTEMPTS) {
          tellsWhatWasSent(exporter, totals);
          return;
        }
        const reported = families(exporter).map(
          (family) => totals.get(udpKey(family))?.packets ?? 0,
        );
        t.diagnostic(
          `${exporter.name} reported ${reported.join(' and ')} of ${DATAGRAMS}; retrying`,
        );
      }
    });
  }
});

type Place = ReturnType<typeof prepare>;

/** Runs one exporter from start to end; both readers must agree about its reports. */
async function bothRead(
  t: TestContext,
  exporter: RealExporter,
  { client, host, folder }: Place,
  name: string,
): Promise<{ readonly totals: Totals; readonly isWhole: boolean }> {
  const capture = join(folder, name);
  mkdirSync(capture);
  const readers = await TwoReaders.open(host, exporter.format, EXPORT_PORT, capture);
  t.after(() => readers.close());
  const { probe, service } = await start(t, exporter, host, folder);
  await talk(client);
  const isWhole = (): boolean => reportedWhole(exporter, readers.ours().totals);
  // pmacctd gives no sign that its probe has read what its core passed on.
  if (exporter.tellsAtEnd) await pause(IDLE_MS);
  else await patiently(isWhole);
  await end(probe);
  await patiently(isWhole);
  service.kill('SIGKILL');
  await readers.settle();
  const { totals, counters, lost } = readers.ours();
  const { malformed, withoutTemplate, templatesRefused } = counters;
  assert.deepEqual([malformed, withoutTemplate, templatesRefused], [0, 0, 0]);
  // softflowd's numbers of IPFIX leave records out: nfdump finds an error in its sequence too.
  if (exporter.name !== 'softflowd, IPFIX') assert.equal(lost, 0);
  assert.ok(totals.size > 0, 'the exporter reported nothing');
  compare(exporter, totals, await readers.theirs());
  readers.close();
  return { totals, isWhole: isWhole() };
}

/** Waits until the condition holds or the time is over; the caller checks which. */
async function patiently(holds: () => boolean): Promise<void> {
  await eventually('the exporter has reported everything', async () => holds(), WHOLE_MS).catch(
    () => {},
  );
}

function prepare(t: TestContext): { client: Namespace; host: Namespace; folder: string } {
  const network = new Network('flows');
  t.after(() => network.destroy());
  const client = network.create('client');
  const host = network.create('host');
  network.join(client, { device: 'v0', addresses: [`${CLIENT[4]}/24`, `${CLIENT[6]}/64`] }, host, {
    device: 'v1',
    addresses: [`${HOST[4]}/24`, `${HOST[6]}/64`],
  });
  const folder = mkdtempSync(join(tmpdir(), 'pcl-flows-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return { client, host, folder };
}

/** Starts the exporter and the receiver of the traffic; resolves when the exporter listens to the device. */
async function start(
  t: TestContext,
  exporter: RealExporter,
  host: Namespace,
  folder: string,
): Promise<{ readonly probe: ChildProcess; readonly service: ChildProcess }> {
  const service = host.spawn([process.execPath, TALK, 'serve', String(SERVICE_PORT)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => service.kill('SIGKILL'));
  await within(
    60_000,
    'nobody takes the traffic',
    once(service.stdout as NodeJS.ReadableStream, 'data'),
  );
  const probe = await startExporter(exporter, host, 'v1', EXPORT_PORT, folder);
  t.after(() => probe.kill('SIGKILL'));
  return { probe, service };
}

async function say(client: Namespace, ...words: readonly (string | number)[]): Promise<void> {
  const child = client.spawn([process.execPath, TALK, ...words.map(String)], { stdio: 'inherit' });
  const [code] = (await within(60_000, 'no traffic', once(child, 'exit'))) as [number | null];
  assert.equal(code, 0);
}

async function talk(client: Namespace): Promise<void> {
  for (const family of [4, 6] as const) {
    // First a request that is answered: until neighbours are resolved, the kernel discards datagrams beyond a hundred.
    await say(client, 'tcp', HOST[family], SERVICE_PORT, 1);
    await say(client, 'udp', HOST[family], SERVICE_PORT, DATAGRAMS, BYTES[family]);
    await say(client, 'tcp', HOST[family], SERVICE_PORT, 300_000);
  }
}

async function end(probe: ChildProcess): Promise<void> {
  const gone = once(probe, 'exit');
  probe.kill('SIGINT');
  await within(60_000, 'the exporter did not end', gone);
}

function udpKey(family: 4 | 6): string {
  return keyOf(17, CLIENT[family], HOST[family]);
}

/** NetFlow 5 has no IPv6. */
function families({ name }: RealExporter): readonly (4 | 6)[] {
  return name.endsWith('NetFlow 5') ? [4] : [4, 6];
}

function reportedWhole(exporter: RealExporter, totals: Totals): boolean {
  return families(exporter).every((family) => {
    const packets = totals.get(udpKey(family))?.packets ?? 0;
    return exporter.format === 'sflow' ? packets > 0 : packets >= DATAGRAMS;
  });
}

function compare({ format }: RealExporter, ours: Totals, theirs: Totals): void {
  const frames = format === 'sflow' ? FRAME_BYTES : 0;
  const reported = [...ours].map(([key, { packets, bytes }]) => [
    key,
    { packets, bytes: bytes + packets * frames },
  ]);
  assert.deepEqual(Object.fromEntries(reported), Object.fromEntries(theirs));
}

/**
 * Asserts the count: without sampling the count equals the packets that left the client; with sampling of one in ten
 * it is within the statistical error.
 */
function tellsWhatWasSent(exporter: RealExporter, totals: Totals): void {
  for (const family of families(exporter)) {
    const { packets, bytes } = totals.get(udpKey(family)) ?? { packets: 0, bytes: 0 };
    assert.equal(bytes, packets * (BYTES[family] + HEADERS[family]));
    if (exporter.format === 'netflow') assert.equal(packets, DATAGRAMS);
    // 40 samples of 400: five standard errors.
    else assert.ok(Math.abs(packets - DATAGRAMS) <= 5 * Math.sqrt(DATAGRAMS * 9), `${packets}`);
  }
}
