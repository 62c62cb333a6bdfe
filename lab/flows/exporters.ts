import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { within } from '../bench/within.ts';
import type { Namespace } from '../stack/netns.ts';

const READY_MS = 20_000;
const MAX_SAID = 20_000;

/** How a real exporter is started on a device, to export to a port of 127.0.0.1. */
export interface RealExporter {
  readonly name: string;
  readonly format: 'netflow' | 'sflow';
  /** When it ends, by SIGINT, it tells what it has not reported yet. */
  readonly tellsAtEnd: boolean;
  /** All that it says when it watches the device and can tell. */
  readonly ready: readonly string[];
  command(device: string, port: number, folder: string): readonly string[];
}

const softflowd = (version: 5 | 9 | 10): RealExporter => ({
  name: `softflowd, ${version === 10 ? 'IPFIX' : `NetFlow ${version}`}`,
  format: 'netflow',
  tellsAtEnd: false,
  ready: ['starting data collection'],
  command: (device, port, folder) => [
    'softflowd',
    '-d',
    '-6',
    `-i${device}`,
    `-v${version}`,
    `-n127.0.0.1:${port}`,
    `-p${join(folder, 'softflowd.pid')}`,
    `-c${join(folder, 'softflowd.ctl')}`,
    // Flows of at most 2 s, so that long ones come in parts; times in milliseconds.
    '-tmaxlife=2',
    '-texpint=1',
    '-Amilli',
  ],
});

const pmacctd = (
  name: string,
  format: RealExporter['format'],
  lines: readonly string[],
): RealExporter => ({
  name: `pmacctd, ${name}`,
  format,
  tellsAtEnd: true,
  ready: ['link type is', 'Exporting flows to'],
  command: (device, port, folder) => {
    const file = join(folder, 'pmacctd.conf');
    const text = ['daemonize: false', `pcap_interface: ${device}`, ...lines];
    writeFileSync(file, `${text.join('\n').replaceAll('PORT', String(port))}\n`);
    return ['pmacctd', '-f', file];
  },
});

const NFPROBE = [
  'plugins: nfprobe',
  'nfprobe_receiver: 127.0.0.1:PORT',
  'nfprobe_timeouts: expint=1:maxlife=2',
  'aggregate: src_host,dst_host,src_port,dst_port,proto,tos,tcpflags,vlan',
];

export const REAL_EXPORTERS: readonly RealExporter[] = [
  softflowd(5),
  softflowd(9),
  softflowd(10),
  pmacctd('NetFlow 5', 'netflow', [...NFPROBE, 'nfprobe_version: 5']),
  pmacctd('NetFlow 9', 'netflow', [...NFPROBE, 'nfprobe_version: 9']),
  pmacctd('IPFIX', 'netflow', [...NFPROBE, 'nfprobe_version: 10']),
  pmacctd('sFlow', 'sflow', [
    'plugins: sfprobe',
    'sfprobe_receiver: 127.0.0.1:PORT',
    'sampling_rate: 10',
  ]),
];

/** Starts it, and resolves when it watches the device and can tell. */
export async function startExporter(
  exporter: RealExporter,
  where: Namespace,
  device: string,
  port: number,
  folder: string,
): Promise<ChildProcess> {
  // It reads every packet: one that waits for its turn tells late, and of less.
  const command = ['nice', '--adjustment=-10', ...exporter.command(device, port, folder)];
  const child = where.spawn(command, {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ready = Promise.withResolvers<void>();
  let said = '';
  for (const output of [child.stdout, child.stderr]) {
    output?.on('data', (text: Buffer) => {
      // The end of it is enough: it begins to say things when it is ready, and may say much later.
      said = (said + text.toString()).slice(-MAX_SAID);
      if (exporter.ready.every((words) => said.includes(words))) ready.resolve();
    });
  }
  try {
    await within(READY_MS, `${exporter.name} does not watch`, ready.promise);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  return child;
}
