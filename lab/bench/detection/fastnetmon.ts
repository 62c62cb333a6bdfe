import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatAddress, parseAddress } from '@portcullis/core/net/address.ts';
import { within } from '../within.ts';
import { FIRST } from './first.ts';
import type { Namespace } from '../../stack/netns.ts';

/** The input that it reads: packets of a device, or exports that come to a port. */
export type FastNetMonInput =
  | { readonly kind: 'packets'; readonly device: string }
  | { readonly kind: 'sflow' | 'netflow'; readonly port: number };

export interface FastNetMonOptions {
  readonly input: FastNetMonInput;
  readonly networks: readonly string[];
  readonly pps: number;
  readonly mbps: number;
  /** Its ban time: so long after a ban it looks whether the attack is over. */
  readonly banSeconds: number;
}

/** One call of its notify script. */
export interface Notice {
  readonly atMs: number;
  readonly ip: string;
  readonly kind: 'ban' | 'attack_details' | 'unban';
  /** The type as it names it; null where it does not. */
  readonly type: string | null;
  readonly peakPps: number | null;
}

const READY_MS = 20_000;

/** FastNetMon of Debian, as quick as it can be set: averages of one second, where it would take five. */
export class FastNetMon {
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(child: ChildProcess, folder: string) {
    this.#child = child;
    this.#folder = folder;
  }

  static async start(
    where: Namespace,
    folder: string,
    options: FastNetMonOptions,
  ): Promise<FastNetMon> {
    mkdirSync(join(folder, 'notices'), { recursive: true });
    const script = join(folder, 'notify.sh');
    writeFileSync(script, notifyScript(join(folder, 'notices')));
    chmodSync(script, 0o755);
    writeFileSync(join(folder, 'networks'), `${options.networks.join('\n')}\n`);
    writeFileSync(join(folder, 'whitelist'), '');
    writeFileSync(join(folder, 'fastnetmon.conf'), configuration(folder, options));
    const child = where.spawn(
      // As our edge and collector: what else the machine does is nobody's due.
      [
        ...FIRST,
        'fastnetmon',
        `--configuration_file=${join(folder, 'fastnetmon.conf')}`,
        '--log_to_console',
        '--disable_pid_logic',
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    await within(READY_MS, 'FastNetMon did not start', ready(child));
    return new FastNetMon(child, folder);
  }

  /** In the order in which it gave them. */
  notices(): Notice[] {
    const folder = join(this.#folder, 'notices');
    return readdirSync(folder)
      .filter((name) => name.endsWith('.notice'))
      .toSorted()
      .map((name) => parseNotice(name, readFileSync(join(folder, name), 'utf8')));
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'close');
    this.#child.kill('SIGKILL');
    await within(READY_MS, 'FastNetMon does not end', gone);
  }
}

/** Resolves when it has read its configuration and its threads run. */
async function ready(child: ChildProcess): Promise<void> {
  const done = Promise.withResolvers<void>();
  let said = '';
  for (const output of [child.stdout, child.stderr]) {
    output?.on('data', (text: Buffer) => {
      said = (said + text.toString()).slice(-100_000);
      if (/Run banlist cleanup thread/.test(said)) done.resolve();
    });
  }
  child.once('exit', (code) => done.reject(new Error(`FastNetMon ended with ${code}: ${said}`)));
  await done.promise;
}

/** The time first: what it is called with, and what it gets, take time to write. */
function notifyScript(folder: string): string {
  return `#!/bin/bash
at=$(date +%s%N)
name=${folder}/$at-$$
{ echo "$*"; [ "$4" = unban ] || head -n 12; } > "$name" && mv "$name" "$name.notice"
`;
}

function parseNotice(name: string, text: string): Notice {
  const [first = '', ...lines] = text.split('\n');
  const [ip = '', , , kind] = first.split(' ');
  const find = (field: string): string | null =>
    lines.find((line) => line.startsWith(`${field}: `))?.slice(field.length + 2) ?? null;
  const address = parseAddress(ip);
  const peak = find('Peak attack power');
  return {
    atMs: Number(name.split('-')[0]) / 1e6,
    ip: address.ok ? formatAddress(address.value) : ip,
    kind: kind as Notice['kind'],
    type: find('Attack type'),
    peakPps: peak === null ? null : Number.parseInt(peak, 10),
  };
}

function configuration(folder: string, options: FastNetMonOptions): string {
  const { input, pps, mbps, banSeconds } = options;
  const reads =
    input.kind === 'packets'
      ? { mirror_afpacket: 'on', interfaces: input.device }
      : {
          [input.kind]: 'on',
          [`${input.kind}_port`]: input.port,
          [`${input.kind}_host`]: '127.0.0.1',
        };
  const settings = {
    // It would tell its maker that it runs.
    disable_usage_report: 'on',
    logging_local_syslog_logging: 'off',
    enable_ban: 'on',
    enable_ban_ipv6: 'on',
    process_incoming_traffic: 'on',
    process_outgoing_traffic: 'off',
    ban_time: banSeconds,
    unban_only_if_attack_finished: 'on',
    ban_details_records_count: 20,
    networks_list_path: join(folder, 'networks'),
    white_list_path: join(folder, 'whitelist'),
    enable_connection_tracking: 'on',
    ban_for_pps: 'on',
    ban_for_bandwidth: 'on',
    ban_for_flows: 'off',
    threshold_pps: pps,
    threshold_mbps: mbps,
    mirror_af_packet_custom_sampling_rate: 1,
    mirror_af_packet_fanout_mode: 'cpu',
    average_calculation_time: 1,
    speed_calculation_delay: 1,
    notify_script_path: join(folder, 'notify.sh'),
    monitor_local_ip_addresses: 'off',
    monitor_openvz_vps_ip_addresses: 'off',
    pid_path: join(folder, 'pid'),
    cli_stats_file_path: join(folder, 'stats'),
    cli_stats_ipv6_file_path: join(folder, 'stats6'),
    enable_api: 'off',
    prometheus: 'off',
    sort_parameter: 'packets',
    max_ips_in_list: 7,
    ...reads,
  };
  return `${Object.entries(settings)
    .map(([name, value]) => `${name} = ${value}`)
    .join('\n')}\n`;
}
