import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { BOOT_UNIT, renderBootUnit } from '@portcullis/edge/boot/unit.ts';
import { failed, usageError } from '../exit.ts';
import { print } from '../output.ts';
import type { BootUnitOptions } from '../program/edge.ts';
import { dataDirectory } from './edge.ts';

const UNITS = '/etc/systemd/system';
const UNIT_PATH = join(UNITS, BOOT_UNIT);
/** There while systemd runs this host, see sd_booted(3). Elsewhere (an image that is being built) links are all. */
const RUNS_SYSTEMD = '/run/systemd/system';
const CONTROL_CHARACTER = /\p{Cc}/u;

/** `portcullis edge boot-unit`: shows the unit that loads the last table at boot, puts it in its place, or takes it away. */
export function bootUnit(options: BootUnitOptions): void {
  if (options.install === true && options.uninstall === true)
    throw usageError('--install and --uninstall exclude each other');
  if (options.uninstall === true) {
    uninstall();
    return;
  }
  const state = join(resolve(dataDirectory(options)), 'edge');
  // It would end a line of the unit, and what follows would be another setting.
  if (CONTROL_CHARACTER.test(state)) throw usageError('--data has a control character in it');
  const unit = renderBootUnit(state);
  if (options.install === true) install(unit);
  else print(unit.trimEnd());
}

/** Again as often as one likes: what is there already stays as it is. */
function install(unit: string): void {
  if (!existsSync(UNITS)) throw failed(`${UNITS} is not there: this is no host with systemd`);
  if (readUnit() !== unit) writeUnit(unit);
  reload();
  systemctl('enable', BOOT_UNIT);
  print(`${UNIT_PATH} is enabled: this host enforces from before its network is up.`);
}

function uninstall(): void {
  if (readUnit() === null) {
    print(`${UNIT_PATH} is not there.`);
    return;
  }
  systemctl('disable', BOOT_UNIT);
  inWords('removed', () => rmSync(UNIT_PATH));
  reload();
  print(`${UNIT_PATH} is removed: after a reboot this host enforces once its edge is started.`);
}

function readUnit(): string | null {
  return inWords('read', () => (existsSync(UNIT_PATH) ? readFileSync(UNIT_PATH, 'utf8') : null));
}

/** Whole or not at all: half a unit would be a boot that loads nothing. */
function writeUnit(unit: string): void {
  const draft = `${UNIT_PATH}.${process.pid}`;
  inWords('written', () => {
    try {
      writeFileSync(draft, unit, { mode: 0o644, flush: true });
      renameSync(draft, UNIT_PATH);
    } finally {
      rmSync(draft, { force: true });
    }
  });
}

function inWords<T>(deed: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw failed(
      `${UNIT_PATH} could not be ${deed}: run this as root, on a host with systemd`,
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
