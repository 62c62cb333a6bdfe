import { join, resolve } from 'node:path';
import {
  BOOT_CAPABILITIES,
  BOOT_SCRIPT,
  BOOT_UNIT,
  renderBootUnit,
} from '@portcullis/edge/boot/unit.ts';
import type { Command } from 'commander';
import { mayUse } from '../../agents/rights.ts';
import { UnitFile } from '../../agents/unit-file.ts';
import { dataDirectory } from '../../control-options.ts';
import { failed, usageError } from '@portcullis/caller/exit.ts';
import { print } from '@portcullis/caller/output.ts';

interface BootUnitOptions {
  readonly data?: string;
  readonly install?: boolean;
  readonly uninstall?: boolean;
}

const UNIT = new UnitFile(BOOT_UNIT);
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
    print(
      UNIT.uninstall()
        ? `${UNIT.path} is removed: after a reboot this host enforces once its edge is started.`
        : `${UNIT.path} does not exist.`,
    );
    return;
  }
  const state = join(resolve(await dataDirectory(options)), 'edge');
  // A line break would end the line of the unit and start another setting.
  if (CONTROL_CHARACTER.test(state)) throw usageError('--data has a control character in it');
  const unit = renderBootUnit(state);
  if (options.install !== true) {
    print(unit.trimEnd());
    return;
  }
  requireReadable();
  UNIT.install(unit);
  print(`${UNIT.path} is enabled: this host enforces from before its network is up.`);
}

/** The unit runs before there is anything that could make a copy, and root without rights may not enter each home. */
function requireReadable(): void {
  if (process.getuid?.() !== 0 || mayUse(BOOT_CAPABILITIES, ['-r', BOOT_SCRIPT])) return;
  throw failed(
    `the unit could not read ${BOOT_SCRIPT} at boot: move this checkout to a folder that others may read, such as one below /opt, or install the package`,
  );
}
