import type { Command } from 'commander';
import { connect } from '../../connect.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { print, printable, printJson, printTable } from '../../output.ts';
import { addLibraryChanges } from './change.ts';
import { findEgg } from './find.ts';

/** The games of which servers can be made. */
export function addEggs(program: Command): void {
  const eggs = program
    .command('eggs')
    .description('the games of which servers can be made')
    .addHelpText(
      'after',
      `
  portcullis eggs list                                       those that the operator offers
  portcullis eggs show flying-squid                          its settings, with what they take
  portcullis servers create Survival --egg flying-squid

With a key of the operator:

  portcullis eggs add paper --from https://eggs.example.net/paper.json
  portcullis eggs update paper                               from its URL: shows what changes, and asks
  portcullis eggs update paper --file egg-paper.json --give all --yes
  portcullis eggs remove paper`,
    );
  withCallOptions(
    eggs.command('list').description('every game that is offered').argument('[words...]'),
  ).action(listEggs);
  withCallOptions(
    eggs.command('show').description('a game with its settings').argument('<egg>'),
  ).action(showEgg);
  addLibraryChanges(eggs);
}

async function listEggs(words: readonly string[], options: CallOptions): Promise<void> {
  const { data } = await connect(options).listOfferedEggs();
  const found = data.filter(({ name, title, description, author }) => {
    const text = [name, title, description, author].join(' ').toLowerCase();
    return words.every((word) => text.includes(word.toLowerCase()));
  });
  if (options.json === true) {
    printJson(found);
    return;
  }
  if (found.length === 0) {
    print('No game is offered that matches.');
    return;
  }
  await printTable(
    ['EGG', 'GAME', 'ABOUT'],
    found.map(({ name, title, description }) => [name, printable(title), printable(description)]),
  );
}

async function showEgg(name: string, options: CallOptions): Promise<void> {
  const egg = await findEgg(connect(options), name);
  if (options.json === true) {
    printJson(egg);
    return;
  }
  print(printable(egg.title));
  if (egg.description !== '') print(printable(egg.description));
  print(`Images: ${egg.images.map(printable).join(', ')}`);
  if (egg.filters.length > 0) {
    print(`Filters that fit: ${egg.filters.map((filter) => filter.name).join(', ')}`);
  }
  if (egg.variables.length === 0) return;
  print();
  await printTable(
    ['VARIABLE', 'NAME', 'DEFAULT', 'RULES'],
    egg.variables.map(({ env, name: called, default: value, rules }) => [
      env,
      printable(called),
      printable(value),
      printable(rules.join(' ')),
    ]),
  );
}
