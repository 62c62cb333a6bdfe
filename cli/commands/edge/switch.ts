import { join } from 'node:path';
import type { Command } from 'commander';
import { dataDirectory } from '../../control-options.ts';
import { failed } from '../../exit.ts';
import { print, printJson } from '../../output.ts';

interface SwitchOptions {
  readonly data?: string;
  readonly json?: boolean;
}

/** `off`, `on` and `confirm` work on this host only, with or without a running agent and control. */
const SWITCHES = {
  off: { description: 'disable the edge of this host; needs no control plane', run: disable },
  on: { description: 'let the edge of this host enforce again', run: enable },
  confirm: { description: 'keep enforcing after --confirm-within', run: confirm },
} as const;

export function addSwitches(edge: Command): void {
  for (const [name, { description, run }] of Object.entries(SWITCHES)) {
    edge
      .command(name)
      .description(description)
      .option('--data <dir>', 'data directory of this host')
      .option('--json', 'as JSON')
      .action(async (_options: SwitchOptions, command: Command) => {
        // The options of `edge` itself are accepted as well: portcullis edge --data DIR off.
        const options = command.optsWithGlobals<SwitchOptions>();
        const stateDir = join(await dataDirectory(options), 'edge');
        const text = await explainDenial(stateDir, () => run(stateDir));
        if (options.json === true) printJson({ edge: name, state: stateDir });
        else print(text);
      });
  }
}

async function disable(stateDir: string): Promise<string> {
  const { disableEnforcement } = await import('@portcullis/edge/switch/disable.ts');
  if (!(await disableEnforcement(stateDir, process.env))) {
    throw failed(
      `an edge that does not use ${stateDir} enforces on this host and restores its table. Give the --data that it was started with`,
    );
  }
  return 'The edge is disabled: nothing of Portcullis is in the kernel of this host, also after a restart. To enable it: portcullis edge on';
}

async function enable(stateDir: string): Promise<string> {
  const { edgeOn } = await import('@portcullis/edge/switch/switch-files.ts');
  edgeOn(stateDir);
  return 'The edge is enabled: it enforces if it runs and was started to enforce.';
}

async function confirm(stateDir: string): Promise<string> {
  const { edgeConfirm } = await import('@portcullis/edge/switch/switch-files.ts');
  const result = edgeConfirm(stateDir);
  if (result === 'confirmed') return 'Confirmed: the edge keeps enforcing.';
  throw failed(
    result === 'none'
      ? 'there is nothing to confirm here: no edge was started with --confirm-within on this data directory'
      : 'too late: the edge is disabled already. Try again: portcullis edge on',
  );
}

async function explainDenial(stateDir: string, work: () => Promise<string>): Promise<string> {
  try {
    return await work();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    const isDenied = code === 'EACCES' || code === 'EPERM';
    // nft reports a denial only as text, which differs between versions.
    if (!isDenied && process.getuid?.() === 0) throw error;
    throw failed(
      `no permission to change ${isDenied ? stateDir : 'the kernel of this host'}: run this as root`,
      error,
    );
  }
}
