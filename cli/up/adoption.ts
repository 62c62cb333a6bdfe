import { existsSync, lstatSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { chooseAccount } from '@portcullis/control/db/embedded/account.ts';
import { mayEdgeUse } from '../agents/processes.ts';
import { confirmOnTerminal } from '@portcullis/caller/confirm.ts';
import { installationOf } from '../control-options.ts';
import { failed, usageError } from '@portcullis/caller/exit.ts';
import { adoptInstallation, completeAdoption } from '../installation/adopt.ts';
import { isInstalled, movedTo } from '../installation/choose.ts';
import { commandLine } from '../installation/command-line.ts';
import { warn } from '@portcullis/caller/output.ts';

export interface AdoptionOptions {
  readonly adopt?: string;
  readonly data?: string;
  readonly json?: boolean;
}

/**
 * The installation that this start takes over, or null: the one of --adopt, or that of the user who runs sudo, if root has
 * none and the operator agrees. Nothing is started without an answer: two installations would have keys that the other
 * does not know.
 */
export async function decideAdoption(
  dataDir: string,
  options: AdoptionOptions,
): Promise<string | null> {
  const isGiven = options.data !== undefined || Boolean(process.env['PORTCULLIS_DATA']);
  if (options.adopt !== undefined) return decideRequested(resolve(options.adopt), dataDir);
  const { notice, adoptable } = installationOf(dataDir, isGiven);
  if (notice !== null) warn(notice);
  if (adoptable === null) return null;
  const isTerminal = process.stdin.isTTY && process.stderr.isTTY && options.json !== true;
  const question = `Take over the installation in ${adoptable}, with its keys, rules and game servers? It moves to ${dataDir}.`;
  if (isTerminal && (await confirmOnTerminal(question))) return adoptable;
  const both = [`--adopt ${adoptable}`, `--data ${dataDir}`];
  throw usageError(
    `there is an installation in ${adoptable}, and none in ${dataDir}: take it over with ${both[0]}, or make another one with ${both[1]}`,
  );
}

function decideRequested(from: string, dataDir: string): string | null {
  if (process.getuid?.() !== 0)
    throw usageError('--adopt gives files to other accounts: run this as root');
  // The same command again: it was adopted before.
  return movedTo(from) === dataDir ? null : from;
}

/** Does nothing but to complete an interrupted adoption if there is nothing to take over. */
export async function adopt(from: string | null, dataDir: string): Promise<void> {
  if (from === null) {
    completeAdoption(dataDir);
    return;
  }
  const asked = process.env['PORTCULLIS_ACCOUNT'] || undefined;
  const account = chooseAccount(asked, join(dataDir, 'postgres'));
  if (account === null) throw usageError('--adopt needs root');
  await adoptInstallation(from, dataDir, account);
  warn(
    `The installation of ${from} is in ${dataDir} now. What is left there is not used any more: delete it once this one works.`,
  );
}

/**
 * Requires the rights of an edge. As root, the edge has few rights: in a directory of another account it could keep
 * nothing, and not be disabled.
 */
export function requireEdgeRights(dataDir: string): void {
  if (process.getuid?.() !== 0) return;
  const edge = join(dataDir, 'edge');
  const isBlocked = (how: '-x' | '-w', path: string): boolean =>
    existsSync(path) && !mayEdgeUse(how, path);
  if (!isBlocked('-x', dataDir) && !isBlocked('-w', edge)) return;
  const { uid } = lstatSync(dataDir);
  const how = isInstalled(dataDir)
    ? `Take it over: ${commandLine(['up', '--enforce', '--adopt', dataDir], { asRoot: true })}`
    : 'Choose another directory with --data';
  throw failed(
    `${dataDir} belongs to uid ${uid}, and the edge of root has no rights there. ${how}`,
  );
}
