import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { BOOT_UNIT, renderBootUnit } from '@portcullis/edge/boot/unit.ts';
import type { Command } from 'commander';
import { dataDirectory } from '../../control-options.ts';
import { failed, usageError } from '../../exit.ts';
import { print } from '../../output.ts';

interface BootUnitOptions {
  readonly data?: string;
  readonly install?: boolean;
  readonly uninstall?: boolean;
}

const UNITS = '/etc/systemd/system';
const UNIT_PATH = join(UNITS, BOOT_UNIT);
/** Exists while systemd runs this host, see sd_booted(3). In an image that is being built, links are enough. */
const RUNS_SYSTEMD = '/run/systemd/system';
const CONTROL_CHARACTER = /\p{Cc}/u;

export function addBootUnit(edge: Command): void {
  edge
    .command('boot-unit')
    .description('the systemd unit that enforces from before the network is up, after a reboot')
    .option('--data <dir>', 'data directory of this host')
    .option('--install', 'install and enable it')
    .option('--uninstall', 'disable and remove it')
    .action((_options: BootUnitOptions, command: Command) =>
      bootUnit(command.optsWithGlobals<BootUnitOptions>()),
    );
}

async function bootUnit(options: BootUnitOptions): Promise<void> {
  if (options.install === true && options.uninstall === true)
    throw usageError('--install and --uninstall exclude each other');
  if (options.uninstall === true) {
    uninstall();
    return;
  }
  const state = join(resolve(await dataDirectory(options)), 'edge');
  // A line break would end the line of the unit and start another setting.
  if (CONTROL_CHARACTER.test(state)) throw usageError('--data has a control character in it');
  const unit = renderBootUnit(state);
  if (options.install === true) install(unit);
  else print(unit.trimEnd());
}

/** Idempotent: an identical unit is not written again. */
function install(unit: string): void {
  if (!existsSync(UNITS)) throw failed(`${UNITS} does not exist: this host has no systemd`);
  if (readUnit() !== unit) writeUnit(unit);
  reload();
  systemctl('enable', BOOT_UNIT);
  print(`${UNIT_PATH} is enabled: this host enforces from before its network is up.`);
}

function uninstall(): void {
  if (readUnit() === null) {
    print(`${UNIT_PATH} does not exist.`);
    return;
  }
  systemctl('disable', BOOT_UNIT);
  attempt('removed', () => rmSync(UNIT_PATH));
  reload();
  print(`${UNIT_PATH} is removed: after a reboot this host enforces once its edge is started.`);
}

function readUnit(): string | null {
  return attempt('read', () => (existsSync(UNIT_PATH) ? readFileSync(UNIT_PATH, 'utf8') : null));
}

/** Writes the unit atomically: with half a unit, a boot would load nothing. */
function writeUnit(unit: string): void {
  const draft = `${UNIT_PATH}.${process.pid}`;
  attempt('written', () => {
    try {
      writeFileSync(draft, unit, { mode: 0o644, flush: true });
      renameSync(draft, UNIT_PATH);
    } finally {
      rmSync(draft, { force: true });
    }
  });
}

function attempt<T>(done: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw failed(
      `${UNIT_PATH} could not be ${done}: run this as root, on a host with systemd`,
      cause,
    );
  }
}

function reload(): void {
  if (existsSync(RUNS_SYSTEMD)) systemctl('daemon-reload');
}

function systemctl(...args: readonly string[]): void {
  const { status, error, stderr } = spawnSync('systemctl', args, { encoding: 'utf8' });
  if (error !== undefined) throw failed('systemctl could not be run', error);
  if (status !== 0) throw failed(`systemctl ${args.join(' ')} failed: ${stderr.trim()}`);
}
