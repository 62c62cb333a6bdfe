import { readFile } from 'node:fs/promises';
import type { ApplyProgress } from '@portcullis/control/operator/fleet-file/apply/apply.ts';
import type { Db } from '@portcullis/control/db/database.ts';
import type { FleetFile } from '@portcullis/control/operator/fleet-file/desired.ts';
import type {
  FleetChange,
  FleetPlan,
} from '@portcullis/control/operator/fleet-file/plan/change.ts';
import type { Command } from 'commander';
import { confirmOnTerminal } from '@portcullis/caller/confirm.ts';
import { dataDirectory } from '../control-options.ts';
import { withDatabase } from '../database.ts';
import { EXIT, failed, QuietExit } from '@portcullis/caller/exit.ts';
import { type DatabaseOptions, withDatabaseOptions } from '../options.ts';
import { print, printJson, styled, warn } from '@portcullis/caller/output.ts';

const ADOPT = 'hand objects that the file names and that were made by hand to the file';
/** Fewer changes are applied before anybody could read the progress. */
const PROGRESS_FROM = 1_000;

interface PlanOptions extends DatabaseOptions {
  readonly adopt?: boolean;
  readonly detailedExitcode?: boolean;
}
interface ApplyOptions extends DatabaseOptions {
  readonly adopt?: boolean;
  readonly force?: boolean;
  readonly yes?: boolean;
}

interface ExportOptions extends Pick<DatabaseOptions, 'data'> {
  readonly out?: string;
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
  portcullis fleet apply fleet.yaml     apply it, in one transaction; asks first on a terminal
  portcullis fleet undo                 apply what was applied before the last apply
  portcullis fleet export               print a fleet file of all that is there
  portcullis fleet schema               the JSON Schema of the file, for editors

plan --detailed-exitcode exits with ${EXIT.changes} if there is something to change.`,
    );
  withDatabaseOptions(
    fleet.command('plan').description('show what applying would change').argument('<file>'),
  )
    .option('--adopt', ADOPT)
    .option('--detailed-exitcode', `exit with ${EXIT.changes} if there is something to change`)
    .action(planFleet);
  withApplyOptions(fleet.command('apply').description('apply the file').argument('<file>'))
    .option('--adopt', ADOPT)
    .action(async (path: string, options: ApplyOptions) => {
      await applyFile(await readWanted(path), options);
    });
  withApplyOptions(
    fleet.command('undo').description('apply what was applied before the last apply'),
  ).action(undoFleet);
  addExport(fleet);
  fleet.command('schema').description('print the JSON Schema of the file').action(printFleetSchema);
}

function addExport(fleet: Command): void {
  fleet
    .command('export')
    .description('print a fleet file of all that is there, also of what was made by hand')
    .option(
      '--data <dir>',
      'data directory of the embedded database (DATABASE_URL takes precedence)',
    )
    .option('--out <file>', 'write it to a file, for this account only')
    .option('--force', 'also over a file that is there')
    .addHelpText(
      'after',
      `
  portcullis fleet export                      print it
  portcullis fleet export --out fleet.yaml     write it; --force replaces a file
  portcullis fleet plan fleet.yaml --adopt     then says: Nothing to change.

It changes nothing. Comments at the top of the file say what it leaves out and why, and which variables it needs in
place of secrets. It exits with ${EXIT.failed}, with the file written, if applying the file would change something.`,
    )
    .action(exportFleet);
}

async function exportFleet(options: ExportOptions): Promise<void> {
  const { writeExport } = await import('../fleet-export.ts');
  await writeExport(options);
}

function withApplyOptions(command: Command): Command {
  return withDatabaseOptions(command)
    .option('--yes', 'do not ask')
    .option(
      '--force',
      'also close organisations, suspend keys, end holdings with live objects, remove the last edge, or lose files of servers',
    );
}

async function planFleet(path: string, options: PlanOptions): Promise<void> {
  const [{ planFleet: plan }, { renderMistake }] = await Promise.all([
    import('@portcullis/control/operator/fleet-file/apply/apply.ts'),
    import('@portcullis/control/operator/fleet-file/mistakes.ts'),
  ]);
  const file = await readWanted(path);
  const planned = await withDatabase(options, (db) => plan(db, file, options), { create: true });
  const { changes, notes, mistakes, losses } = planned;
  if (options.json === true)
    printJson({ changes: changes.map(changeView), notes, mistakes, losses });
  else {
    printChanges(changes, notes);
    if (changes.length === 0 && mistakes.length === 0) print('Nothing to change.');
    if (changes.length > 0) print(`Plan: ${summaryOf(changes, 'to ')}.`);
  }
  if (mistakes.length > 0)
    throw failed(`applying would be refused:\n${mistakes.map(renderMistake).join('\n')}`);
  for (const loss of losses) warn(`${renderMistake(loss)} (apply needs --force)`);
  if (options.detailedExitcode === true && changes.length > 0) throw new QuietExit(EXIT.changes);
}

async function readWanted(path: string): Promise<FleetFile> {
  const { readFleet } = await import('../fleet-file.ts');
  return readFleet(path);
}

async function undoFleet(options: ApplyOptions): Promise<void> {
  const { loadPreviousFile } = await import(
    '@portcullis/control/operator/fleet-file/apply/applied-files.ts'
  );
  const previous = await withDatabase(options, loadPreviousFile);
  if (previous === null)
    throw failed('there is nothing to undo: no fleet file was applied before the last one');
  const { file, at } = previous;
  if (options.json !== true) print(`Back to ${file.path} as applied at ${at.toISOString()}:`);
  await applyFile(file, options);
}

async function applyFile(file: FleetFile, options: ApplyOptions): Promise<void> {
  const { applyFleetFile } = await import('../fleet-file.ts');
  const dataDir = await dataDirectory(options);
  const applied = await withDatabase(
    options,
    async (db) => {
      const agreed = await agree(db, file, options);
      return applyFleetFile(db, file, {
        dataDir,
        allowLosses: options.force === true,
        adopt: options.adopt === true,
        onProgress: showProgress(performance.now()),
        ...(agreed !== null && { agreed }),
      });
    },
    { create: true },
  );
  const { changes, notes, createdKeys, generation } = applied;
  if (options.json === true) {
    printJson({ changes: changes.map(changeView), notes, keys: createdKeys, generation });
    return;
  }
  printChanges(changes, notes);
  print(changes.length > 0 ? `Applied: ${summaryOf(changes, '')}.` : 'Nothing to change.');
  for (const key of createdKeys) {
    print(
      `API key ${key.name} of ${key.organisation} (shown only once): ${styled('bold', key.key)}`,
    );
  }
}

/** On a terminal: shows the plan and asks. Returns the plan that was agreed to, or null if nobody was asked. */
async function agree(db: Db, file: FleetFile, options: ApplyOptions): Promise<string | null> {
  if (options.yes === true || options.json === true || !process.stdin.isTTY) return null;
  const [{ planFleet: plan }, { renderPlan }] = await Promise.all([
    import('@portcullis/control/operator/fleet-file/apply/apply.ts'),
    import('@portcullis/control/operator/fleet-file/plan/plan.ts'),
  ]);
  const planned: FleetPlan = await plan(db, file, options);
  const { changes, mistakes, losses } = planned;
  const isRefused = mistakes.length > 0 || (losses.length > 0 && options.force !== true);
  if (changes.length === 0 || isRefused) return null;
  process.stderr.write(renderPlan(planned));
  const isAgreed = await confirmOnTerminal(`Plan: ${summaryOf(changes, 'to ')}. Apply?`);
  if (!isAgreed) throw failed('nothing was changed');
  return renderPlan(planned);
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
    import.meta.resolve('@portcullis/control/operator/fleet-file/schema/fleet.schema.json'),
  );
  process.stdout.write(await readFile(url, 'utf8'));
}

function printChanges(changes: readonly FleetChange[], notes: readonly string[]): void {
  const colours = { '+': 'green', '~': 'yellow', '-': 'red' } as const;
  for (const { sign, subject, words } of changes) {
    print(`${styled(colours[sign], sign)} ${subject}${words === '' ? '' : `: ${words}`}`);
  }
  for (const note of notes) print(note);
}

/** `2 to create, 1 to change, 0 to remove`; without `to`, what was done. */
function summaryOf(changes: readonly FleetChange[], to: 'to ' | ''): string {
  const verbs = to === '' ? ['created', 'changed', 'removed'] : ['create', 'change', 'remove'];
  return (['+', '~', '-'] as const)
    .map((sign, index) => {
      const { length } = changes.filter((change) => change.sign === sign);
      return `${length} ${to}${verbs[index]}`;
    })
    .join(', ');
}

function changeView({ sign, subject, words }: FleetChange): object {
  return { sign, subject, words };
}
