import { readFile } from 'node:fs/promises';
import type { ApplyProgress } from '@portcullis/control/fleet-file/apply/apply.ts';
import type { FleetChange } from '@portcullis/control/fleet-file/plan/change.ts';
import type { Command } from 'commander';
import { withDatabase } from '../database.ts';
import { failed } from '../exit.ts';
import { type DatabaseOptions, withDatabaseOptions } from '../options.ts';
import { print, printJson, styled, warn } from '../output.ts';

/** Fewer changes are applied before anybody could read the progress. */
const PROGRESS_FROM = 1_000;

interface ApplyOptions extends DatabaseOptions {
  readonly force?: boolean;
}

export function addFleet(program: Command): void {
  const fleet = program
    .command('fleet')
    .description('organisations, holdings, groups, edges, nodes and game servers from one file')
    .addHelpText(
      'after',
      `
  portcullis fleet plan fleet.yaml      what applying would change; changes nothing
  portcullis fleet apply fleet.yaml     apply it, in one transaction
  portcullis fleet schema               the JSON Schema of the file, for editors`,
    );
  withDatabaseOptions(
    fleet.command('plan').description('show what applying would change').argument('<file>'),
  ).action(planFleet);
  withDatabaseOptions(fleet.command('apply').description('apply the file').argument('<file>'))
    .option(
      '--force',
      'also if live objects lose the holding they belong to, or servers lose their files',
    )
    .action(applyFleet);
  fleet.command('schema').description('print the JSON Schema of the file').action(printFleetSchema);
}

async function planFleet(path: string, options: DatabaseOptions): Promise<void> {
  const [{ readFleet }, { planFleet: plan }, { renderMistake }] = await Promise.all([
    import('../fleet-file.ts'),
    import('@portcullis/control/fleet-file/apply/apply.ts'),
    import('@portcullis/control/fleet-file/mistakes.ts'),
  ]);
  const file = await readFleet(path);
  const planned = await withDatabase(options, (db) => plan(db, file), { create: true });
  const { changes, notes, mistakes, orphans } = planned;
  if (options.json === true)
    printJson({ changes: changes.map(changeView), notes, mistakes, orphans });
  else printChanges(changes, notes);
  if (mistakes.length > 0)
    throw failed(`applying would be refused:\n${mistakes.map(renderMistake).join('\n')}`);
  for (const orphan of orphans) warn(`${renderMistake(orphan)} (apply needs --force)`);
}

async function applyFleet(path: string, options: ApplyOptions): Promise<void> {
  const { applyFleetFile, readFleet } = await import('../fleet-file.ts');
  const file = await readFleet(path);
  const applied = await withDatabase(
    options,
    (db) =>
      applyFleetFile(db, file, {
        allowOrphans: options.force === true,
        onProgress: showProgress(performance.now()),
      }),
    { create: true },
  );
  const { changes, notes, createdKeys, generation } = applied;
  if (options.json === true) {
    printJson({ changes: changes.map(changeView), notes, keys: createdKeys, generation });
    return;
  }
  printChanges(changes, notes);
  for (const key of createdKeys) {
    print(
      `API key ${key.name} of ${key.organisation} (shown only once): ${styled('bold', key.key)}`,
    );
  }
}

/** Rewrites one line of the terminal; scripts see nothing of it. */
function showProgress(startMs: number): (progress: ApplyProgress) => void {
  return ({ done, total }) => {
    if (!process.stderr.isTTY || total < PROGRESS_FROM) return;
    const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
    const end = done === total ? '; committing\n' : '';
    process.stderr.write(`\r${done} of ${total} changes applied, ${seconds} s${end}`);
  };
}

async function printFleetSchema(): Promise<void> {
  const url = new URL(
    import.meta.resolve('@portcullis/control/fleet-file/schema/fleet.schema.json'),
  );
  process.stdout.write(await readFile(url, 'utf8'));
}

function printChanges(changes: readonly FleetChange[], notes: readonly string[]): void {
  const colours = { '+': 'green', '~': 'yellow', '-': 'red' } as const;
  for (const { sign, subject, words } of changes) {
    print(`${styled(colours[sign], sign)} ${subject}${words === '' ? '' : `: ${words}`}`);
  }
  for (const note of notes) print(note);
  if (changes.length === 0) print('Nothing to change.');
}

function changeView({ sign, subject, words }: FleetChange): object {
  return { sign, subject, words };
}
