import { join } from 'node:path';
import type { Command } from 'commander';
import { dataDirectory } from '../control-options.ts';
import { failed, usageError } from '@portcullis/caller/exit.ts';
import { formatAgo, print, printJson, printTable } from '@portcullis/caller/output.ts';

interface FolderOptions {
  readonly data?: string;
  readonly json?: boolean;
  readonly yes?: boolean;
}

const MIB = 1024 * 1024;

/** `nodes folders` and `nodes purge`: what removed servers left on this host. */
export function addNodeFolders(nodes: Command): void {
  nodes
    .command('folders')
    .description('folders of removed servers on this host')
    .option('--data <dir>', 'data directory of this host')
    .option('--json', 'print JSON')
    .action(listFolders);
  nodes
    .command('purge')
    .description('delete folders of removed servers for good')
    .argument('<uuid...>', 'as printed by "portcullis nodes folders"')
    .option('--data <dir>', 'data directory of this host')
    .option('--yes', 'really delete them')
    .action(purgeFolders);
}

async function listFolders(options: FolderOptions): Promise<void> {
  const { listRemovedFolders } = await import('@portcullis/node/server-folder/removed.ts');
  const folders = await reported(async () =>
    listRemovedFolders(await stateDirectory(options), await quietLog()),
  );
  if (options.json === true) {
    printJson({
      folders: folders.map(({ uuid, path, bytes, changedAt }) => ({
        uuid,
        path,
        bytes,
        changed_at: changedAt.toISOString(),
      })),
    });
    return;
  }
  if (folders.length === 0) {
    print('No folders of removed servers on this host.');
    return;
  }
  await printTable(
    ['UUID', 'MIB', 'CHANGED'],
    folders.map(({ uuid, bytes, changedAt }) => [
      uuid,
      String(Math.ceil(bytes / MIB)),
      formatAgo(changedAt),
    ]),
  );
}

async function purgeFolders(uuids: readonly string[], options: FolderOptions): Promise<void> {
  if (options.yes !== true) throw usageError('this deletes the files for good: add --yes to do it');
  const { purgeFolder } = await import('@portcullis/node/server-folder/removed.ts');
  const stateDir = await stateDirectory(options);
  const log = await quietLog();
  for (const uuid of uuids) {
    if (!(await reported(() => purgeFolder(stateDir, log, uuid))))
      throw failed(`${uuid} has no folder here, or its server is assigned: see nodes folders`);
    print(`${uuid} is deleted.`);
  }
}

async function stateDirectory(options: FolderOptions): Promise<string> {
  return join(await dataDirectory(options), 'node');
}

async function quietLog() {
  const { createLineLog } = await import('@portcullis/agent/log.ts');
  return createLineLog('node', (line) => process.stderr.write(line), 'error');
}

async function reported<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failed((error as Error).message, error);
  }
}
