import { join } from 'node:path';
import type { Command } from 'commander';
import { commandLine } from '../../installation/command-line.ts';
import { dataDirectory } from '../../control-options.ts';
import { failed } from '@portcullis/caller/exit.ts';
import { parseDuration } from '@portcullis/caller/options.ts';
import { print, printJson } from '@portcullis/caller/output.ts';

interface SwitchOptions {
  readonly data?: string;
  readonly json?: boolean;
  readonly confirmWithin?: string;
}

/** The command line of another switch, on the same data directory. */
type Next = (name: keyof typeof SWITCHES) => string;

/** `off`, `on` and `confirm` work on this host only, with or without a running agent and control. */
const SWITCHES = {
  off: { description: 'disable the edge of this host; needs no control plane', run: disable },
  on: { description: 'let the edge of this host enforce again', run: enable },
  confirm: { description: 'keep enforcing after --confirm-within', run: confirm },
} as const;

export function addSwitches(edge: Command): void {
  for (const [name, { description, run }] of Object.entries(SWITCHES)) {
    const command = edge.command(name).description(description);
    if (name === 'on')
      command.option(
        '--confirm-within <time>',
        'on trial: disabled again unless confirmed, such as 120s',
      );
    command
      .option('--data <dir>', 'data directory of this host')
      .option('--json', 'as JSON')
      .action(async (_options: SwitchOptions, invoked: Command) => {
        // The options of `edge` itself are accepted as well: portcullis edge --data DIR off.
        const options = invoked.optsWithGlobals<SwitchOptions>();
        const dataDir = await dataDirectory(options);
        const stateDir = join(dataDir, 'edge');
        const next: Next = (name) => commandLine(['edge', name], { dataDir, asRoot: true });
        const text = await explainDenial(stateDir, () => run(stateDir, next, options));
        if (options.json === true) printJson({ edge: name, state: stateDir });
        else print(text);
      });
  }
}

async function disable(stateDir: string, next: Next): Promise<string> {
  const { disableEnforcement } = await import('@portcullis/edge/switch/disable.ts');
  if (!(await disableEnforcement(stateDir, process.env))) {
    throw failed(
      `an edge that does not use ${stateDir} enforces on this host and restores its table. Give the --data that it was started with`,
    );
  }
  const { endClaim } = await import('@portcullis/edge/switch/claim.ts');
  const knows = await endClaim(stateDir, 'disabled by the operator of this host');
  const counted = knows ? '' : ' Control was not reached: it may count the edge for a minute.';
  return `The edge is disabled: nothing of Portcullis is in the kernel of this host, also after a restart.${counted} To enable it: ${next('on')}`;
}

async function enable(
  stateDir: string,
  next: Next,
  { confirmWithin }: SwitchOptions,
): Promise<string> {
  const { edgeOn } = await import('@portcullis/edge/switch/switch-files.ts');
  const { createMachineClock } = await import('@portcullis/edge/switch/machine-clock.ts');
  const trialMs =
    confirmWithin === undefined ? null : parseDuration(confirmWithin, '--confirm-within');
  edgeOn(stateDir, createMachineClock(), trialMs);
  const enabled = 'The edge is enabled: it enforces if it runs and was started to enforce';
  if (trialMs === null) return `${enabled}. It is on no trial.`;
  const ends = new Date(Date.now() + trialMs).toISOString();
  return `${enabled}. It is disabled again at ${ends} unless you run: ${next('confirm')}`;
}

async function confirm(stateDir: string, next: Next): Promise<string> {
  const { edgeConfirm } = await import('@portcullis/edge/switch/switch-files.ts');
  const result = edgeConfirm(stateDir);
  if (result === 'confirmed') return 'Confirmed: the edge keeps enforcing.';
  throw failed(
    result === 'none'
      ? 'there is nothing to confirm here: no edge was started with --confirm-within on this data directory'
      : `too late: the edge is disabled already. Try again: ${next('on')}`,
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
