import type { ServerSettings } from '@portcullis/client/generated/operations.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import type { Command } from 'commander';
import { connect } from '../../connect.ts';
import { usageError } from '../../exit.ts';
import { type CallOptions, parseDuration, withCallOptions } from '../../options.ts';
import { print, printable, printJson, printTable, styled } from '../../output.ts';
import { findUuid } from './find.ts';
import { addReinstall } from './reinstall.ts';

type Change = Parameters<KeyClient['changeServerSettings']>[0]['body'];
const WITH_HOST = ['as_before', 'always', 'never'] as const;
const DAY_MS = 86_400_000;

export function addSettings(servers: Command): void {
  const settings = servers
    .command('settings')
    .description('variables, image, name, how it starts and stops')
    .addHelpText(
      'after',
      `
  portcullis servers settings show Survival
  portcullis servers settings set Survival MOTD="Come in" MAX_PLAYERS=30
  portcullis servers settings set Survival --unset MOTD              the default of the egg again
  portcullis servers settings set Survival --name "Survival 2" --with-host always
  portcullis servers settings set Survival --crash-restart no
  portcullis servers settings image Survival                         the images of its game
  portcullis servers settings image Survival "Java 21"
  portcullis servers settings reinstall Survival --files bin

A server that runs takes variables and image at its next start: "show" names what waits.`,
    );
  withCallOptions(
    settings
      .command('show')
      .description('its settings, and what of them waits for a restart')
      .argument('<server>'),
  ).action(showSettings);
  addSet(settings);
  withCallOptions(
    settings
      .command('image')
      .description('choose one of the images of its game, or list them')
      .argument('<server>')
      .argument('[label]'),
  )
    .option('--default', 'the first one of the game again')
    .action(chooseImage);
  addReinstall(settings);
}

interface SetOptions extends CallOptions {
  readonly unset?: readonly string[];
  readonly name?: string;
  readonly withHost?: string;
  readonly stopTime?: string;
  readonly crashRestart?: string;
  readonly crashTries?: string;
  readonly crashWithin?: string;
}

function addSet(settings: Command): void {
  withCallOptions(
    settings
      .command('set')
      .description('change them; what is not named stays')
      .argument('<server>')
      .argument('[variables...]', 'NAME=VALUE each'),
  )
    .option('--unset <names...>', 'variables that get the default of the egg again')
    .option('--name <name>', 'what people call it')
    .option('--with-host <when>', `when its host was started: ${WITH_HOST.join(', ')}`)
    .option('--stop-time <time>', 'from its stop to a SIGTERM, such as 90s; "egg": as the egg says')
    .option('--crash-restart <yes|no>', 'whether it is started again after a crash')
    .option('--crash-tries <count>', 'restarts after crashes in a row, 1 to 10')
    .option('--crash-within <time>', 'crashes this soon after each other are in a row, such as 60s')
    .action(setSettings);
}

async function showSettings(server: string, options: CallOptions): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const { data, meta } = await client.readServerSettings({ slice });
  if (options.json === true) printJson(data, { meta });
  else await describe(data, meta);
}

async function describe(
  { variables, fixed, ...data }: ServerSettings['data'],
  { at_next_start: waiting }: ServerSettings['meta'],
): Promise<void> {
  const { name, egg, image, crashes, start_with_host: withHost, stop_seconds: stop } = data;
  print(`${styled('bold', printable(name))}: ${printable(egg.title)} (${egg.name})`);
  print(`image        ${image.used}${image.chosen === null ? ' (the first of the egg)' : ''}`);
  print(`with host    ${withHost}`);
  print(
    `stop time    ${stop === null ? `${data.stop_seconds_of_egg} s (of the egg)` : `${stop} s`}`,
  );
  const { restart, tries, within_seconds: within } = crashes;
  print(
    `crashes      ${restart ? `started again, ${tries} times within ${within} s` : 'stays off'}`,
  );
  if (variables.length > 0) {
    const reasons = new Map(fixed.map(({ pointer, reason }) => [pointer, reason]));
    await printTable(
      ['VARIABLE', 'VALUE', 'DEFAULT', 'WHAT IT IS'],
      variables.map((one) => [
        one.env,
        printable(one.value),
        printable(one.default),
        [one.description === '' ? one.name : one.description, reasons.get(`/variables/${one.env}`)]
          .filter((part) => part !== undefined)
          .map((part) => printable(part))
          .join(' '),
      ]),
    );
  }
  if (waiting === null) print(styled('dim', 'What waits for a restart is not known now.'));
  else if (waiting.length > 0) {
    print(styled('yellow', `Waits for a restart: ${waiting.map(lastName).join(', ')}`));
  }
}

function lastName(pointer: string): string {
  return pointer.split('/').at(-1) ?? pointer;
}

async function setSettings(
  server: string,
  pairs: readonly string[],
  options: SetOptions,
): Promise<void> {
  const body = changeOf(pairs, options);
  if (Object.keys(body).length === 0) throw usageError('name what to change: see --help');
  await send(server, body, options);
}

/** The change that the arguments and options name. */
function changeOf(pairs: readonly string[], options: SetOptions): Change {
  const { name, withHost, stopTime } = options;
  const variables = { ...variablesOf(pairs), ...unset(options.unset ?? []) };
  const crashes = crashesOf(options);
  return {
    ...(name !== undefined && { name }),
    ...(withHost !== undefined && { start_with_host: withHostOf(withHost) }),
    ...(stopTime !== undefined && {
      stop_seconds: stopTime === 'egg' ? null : secondsOf(stopTime, '--stop-time', 3_600_000),
    }),
    ...(Object.keys(crashes).length > 0 && { crashes }),
    ...(Object.keys(variables).length > 0 && { variables }),
  };
}

function variablesOf(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw usageError(`${pair} is not of the form NAME=VALUE`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

function unset(names: readonly string[]): Record<string, null> {
  return Object.fromEntries(names.map((name) => [name, null]));
}

function withHostOf(text: string): (typeof WITH_HOST)[number] {
  const found = WITH_HOST.find((one) => one === text.replace('-', '_'));
  if (found === undefined) {
    throw usageError(`--with-host ${text} is none of ${WITH_HOST.join(', ')}`);
  }
  return found;
}

function crashesOf({
  crashRestart,
  crashTries,
  crashWithin,
}: SetOptions): NonNullable<Change['crashes']> {
  if (crashRestart !== undefined && crashRestart !== 'yes' && crashRestart !== 'no') {
    throw usageError(`--crash-restart ${crashRestart} is neither yes nor no`);
  }
  if (crashTries !== undefined && !/^(?:[1-9]|10)$/.test(crashTries)) {
    throw usageError(`--crash-tries ${crashTries} is not a number from 1 to 10`);
  }
  return {
    ...(crashRestart !== undefined && { restart: crashRestart === 'yes' }),
    ...(crashTries !== undefined && { tries: Number(crashTries) }),
    ...(crashWithin !== undefined && {
      within_seconds: secondsOf(crashWithin, '--crash-within', DAY_MS),
    }),
  };
}

function secondsOf(text: string, option: string, longestMs: number): number {
  return Math.round(parseDuration(text, option, longestMs) / 1_000);
}

interface ImageOptions extends CallOptions {
  readonly default?: boolean;
}

async function chooseImage(
  server: string,
  label: string | undefined,
  options: ImageOptions,
): Promise<void> {
  if (label !== undefined && options.default === true) {
    throw usageError('name an image or --default, not both');
  }
  if (label !== undefined || options.default === true) {
    await send(server, { image: label ?? null }, options);
    return;
  }
  const client = connect(options);
  const { image } = (await client.readServerSettings({ slice: await findUuid(client, server) }))
    .data;
  if (options.json === true) {
    printJson(image);
    return;
  }
  for (const one of image.labels) print(one === image.used ? `${one} (used)` : one);
}

async function send(server: string, body: Change, options: CallOptions): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const { data, meta, message = '' } = await client.changeServerSettings({ slice, body });
  if (options.json === true) printJson(data, { meta, message });
  else if (options.quiet !== true) print(message);
}
