import { readFile } from 'node:fs/promises';
import { planFleet as planFile } from '@portcullis/control/fleet-file/apply/apply.ts';
import type { FleetChange } from '@portcullis/control/fleet-file/plan/change.ts';
import { renderMistake } from '@portcullis/control/fleet-file/mistakes.ts';
import { withDatabase } from '../database.ts';
import { failed } from '../exit.ts';
import { applyFleetFile, readFleet } from '../fleet-file.ts';
import { print, printJson, styled, warn } from '../output.ts';
import type { FleetOptions } from '../program/fleet.ts';

export async function planFleet(path: string, options: FleetOptions): Promise<void> {
  const file = await readFleet(path);
  const plan = await withDatabase(options, (db) => planFile(db, file), { create: true });
  const { changes, notes, mistakes, orphans } = plan;
  if (options.json === true) printJson({ changes: changes.map(toView), notes, mistakes, orphans });
  else describeChanges(changes, notes);
  if (mistakes.length > 0)
    throw failed(`applying would be refused:\n${mistakes.map(renderMistake).join('\n')}`);
  for (const orphan of orphans) warn(`${renderMistake(orphan)} (apply needs --force)`);
}

export async function applyFleet(path: string, options: FleetOptions): Promise<void> {
  const applied = await withDatabase(
    options,
    (db) => applyFleetFile(db, path, options.force === true),
    { create: true },
  );
  const { changes, notes, createdKeys, generation } = applied;
  if (options.json === true) {
    printJson({ changes: changes.map(toView), notes, keys: createdKeys, generation });
    return;
  }
  describeChanges(changes, notes);
  for (const key of createdKeys) {
    print(
      `API key ${key.name} of ${key.organisation} (shown this once): ${styled('bold', key.key)}`,
    );
  }
}

export async function printFleetSchema(): Promise<void> {
  const url = new URL(
    import.meta.resolve('@portcullis/control/fleet-file/schema/fleet.schema.json'),
  );
  process.stdout.write(await readFile(url, 'utf8'));
}

function describeChanges(changes: readonly FleetChange[], notes: readonly string[]): void {
  const colours = { '+': 'green', '~': 'yellow', '-': 'red' } as const;
  for (const { sign, subject, words } of changes) {
    print(`${styled(colours[sign], sign)} ${subject}${words === '' ? '' : `: ${words}`}`);
  }
  for (const note of notes) print(note);
  if (changes.length === 0) print('Nothing to change.');
}

function toView({ sign, subject, words }: FleetChange): object {
  return { sign, subject, words };
}
