import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { BOOT_UNIT, renderBootUnit } from '@portcullis/edge/boot/unit.ts';
import { failed } from '../exit.ts';
import { print } from '../output.ts';
import type { EdgeOptions } from '../program/edge.ts';
import { dataDirectory } from './edge.ts';

const UNITS = '/etc/systemd/system';

/** `portcullis edge boot-unit`: shows the unit that loads the last table at boot, or puts it in its place. */
export function bootUnit(options: EdgeOptions & { readonly install?: boolean }): void {
  const unit = renderBootUnit(join(resolve(dataDirectory(options)), 'edge'));
  if (options.install !== true) {
    print(unit.trimEnd());
    return;
  }
  const path = join(UNITS, BOOT_UNIT);
  try {
    writeFileSync(path, unit);
  } catch (cause) {
    throw failed(`${path} could not be written: run this as root, on a host with systemd`, cause);
  }
  systemctl('daemon-reload');
  systemctl('enable', BOOT_UNIT);
  print(`${path} is enabled: this host enforces from before its network is up.`);
}

function systemctl(...args: readonly string[]): void {
  const { status, error, stderr } = spawnSync('systemctl', args, { encoding: 'utf8' });
  if (error !== undefined) throw failed('systemctl could not be run', error);
  if (status !== 0) throw failed(`systemctl ${args.join(' ')} failed: ${stderr.trim()}`);
}
