import type { Command } from 'commander';
import { confirmOnTerminal } from '../../confirm.ts';
import { connect } from '../../connect.ts';
import { failed, usageError } from '../../exit.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { report } from '../../output.ts';
import { findUuid } from './find.ts';

const FILES = ['keep', 'bin', 'delete'] as const;
type Files = (typeof FILES)[number];

interface ReinstallOptions extends CallOptions {
  readonly files: string;
  readonly yes?: boolean;
}

/** Adds it to `servers` and to `servers settings`. */
export function addReinstall(parent: Command): void {
  withCallOptions(
    parent
      .command('reinstall')
      .description("build it again: the egg's install script runs again in its folder")
      .argument('<server>'),
  )
    .option(
      '--files <what>',
      'keep its files, move them to its bin, or delete them with the bin: keep, bin, delete',
      'keep',
    )
    .option('--yes', 'delete its files without a question')
    .action(reinstall);
}

async function reinstall(server: string, options: ReinstallOptions): Promise<void> {
  const files = filesOf(options.files);
  const client = connect(options);
  const slice = await findUuid(client, server);
  if (files === 'delete') await confirm(server, options);
  report(await client.reinstallGameServer({ slice, query: { files } }), options);
}

function filesOf(text: string): Files {
  const found = FILES.find((one) => one === text);
  if (found === undefined) throw usageError(`--files ${text} is none of ${FILES.join(', ')}`);
  return found;
}

async function confirm(server: string, { yes = false }: ReinstallOptions): Promise<void> {
  if (yes) return;
  if (!process.stdin.isTTY) throw usageError('--files delete needs --yes where nobody can answer');
  const question = `All files of ${server} and its bin are deleted for good. Delete them?`;
  if (!(await confirmOnTerminal(question))) throw failed('nothing was done');
}
