import { setTimeout as delay } from 'node:timers/promises';
import type { KeyClient } from '@portcullis/client/types.ts';
import type { Command } from 'commander';
import { confirmOnTerminal } from '../../confirm.ts';
import { connect } from '../../connect.ts';
import { failed, usageError } from '../../exit.ts';
import { type CallOptions, parseDuration, withCallOptions } from '../../options.ts';
import { print, printable, printJson, printTable, report } from '../../output.ts';
import { findEgg } from '../eggs/find.ts';
import { findUuid } from './find.ts';

interface MakeOptions extends CallOptions {
  readonly egg: string;
  readonly memory: string;
  readonly cpu: string;
  readonly disk: string;
  readonly set: readonly string[];
  readonly image?: string;
  readonly node?: string;
  readonly service?: string;
  readonly wait?: boolean;
  readonly timeout: string;
}

const POLL_MS = 1_000;
const RESTORABLE = 'The operator can restore it for the days that its node keeps deleted servers.';

/** Makes, deletes and counts servers of one's own, within the quota of the organisation. */
export function addMake(servers: Command): void {
  withCallOptions(
    servers
      .command('create')
      .description('make a server, within the quota of the organisation')
      .argument('<name>'),
  )
    .requiredOption('--egg <name>', 'its game: a name of "portcullis eggs list"')
    .option('--memory <mib>', 'MiB', '2048')
    .option('--cpu <percent>', 'percent of one core', '100')
    .option('--disk <mib>', 'MiB', '5120')
    .option('--set <variable=value>', 'a setting of the game; repeat it for more', collect, [])
    .option('--image <label>', "one of the egg's images; default: its first")
    .option('--node <name>', 'default: the best where it fits')
    .option('--service <id>', 'its id, as "portcullis servers quota" has it; default: the first')
    .option('--wait', 'wait until it is built, and print what its install writes')
    .option('--timeout <time>', 'how long --wait waits', '30m')
    .addHelpText(
      'after',
      `
  portcullis servers create Survival --egg flying-squid --memory 1024 --set MAX_PLAYERS=10 --wait`,
    )
    .action(makeServer);
  withCallOptions(
    servers
      .command('delete')
      .description('delete a server that the organisation made')
      .argument('<server>'),
  )
    .option('--yes', 'do not ask')
    .action(deleteServer);
  withCallOptions(
    servers.command('quota').description('what is left of the quota for servers of your own'),
  ).action(showQuota);
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

async function makeServer(name: string, options: MakeOptions): Promise<void> {
  const timeoutMs = parseDuration(options.timeout, '--timeout');
  const body = {
    name,
    limits: {
      memory: wholeOf(options.memory, '--memory'),
      cpu: wholeOf(options.cpu, '--cpu'),
      disk: wholeOf(options.disk, '--disk'),
    },
    variables: Object.fromEntries(options.set.map(settingOf)),
    ...(options.image !== undefined && { image: options.image }),
    ...(options.node !== undefined && { node: options.node }),
    ...(options.service !== undefined && { service: wholeOf(options.service, '--service') }),
  };
  const client = connect(options);
  const { name: egg } = await findEgg(client, options.egg);
  const made = await client.makeGameServer({ body: { ...body, egg } });
  report(made, options);
  const { uuid, allocation } = made.data;
  if (options.wait === true) await follow(client, uuid, options, timeoutMs);
  if (options.json !== true && options.quiet !== true) {
    print(`Players connect to ${allocation.ip} port ${allocation.port}, once it is started:`);
    print(`  portcullis servers power start ${uuid} --wait`);
  }
}

function wholeOf(text: string, option: string): number {
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw usageError(`${option} ${text} is not a whole number above 0`);
}

function settingOf(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw usageError(`--set ${text} is no VARIABLE=VALUE`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Prints new lines of the log until the server is built. Throws if it cannot be built. */
async function follow(
  client: KeyClient,
  slice: string,
  options: CallOptions,
  timeoutMs: number,
): Promise<void> {
  const untilMs = performance.now() + timeoutMs;
  let shown: readonly string[] = [];
  for (;;) {
    const { state, reason, log } = (await client.readGameServerBuild({ slice })).data;
    const lines = log === null || log === '' ? [] : log.split('\n');
    if (options.json !== true && options.quiet !== true) {
      for (const line of newLines(shown, lines)) print(printable(line));
    }
    shown = lines;
    if (state === 'built') return;
    if (state === 'failed') throw failed(reason ?? 'it could not be built');
    if (performance.now() > untilMs) throw failed(`it is ${state} still: ${reason ?? 'wait more'}`);
    await delay(POLL_MS);
  }
}

/** The lines at the end that were not shown: a log has the last lines only. */
function newLines(shown: readonly string[], lines: readonly string[]): readonly string[] {
  const last = shown.at(-1);
  if (last === undefined) return lines;
  return lines.slice(lines.lastIndexOf(last) + 1);
}

async function deleteServer(
  server: string,
  options: CallOptions & { readonly yes?: boolean },
): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  if (options.yes !== true) {
    if (!process.stdin.isTTY) throw usageError('it asks before it deletes a server: say --yes');
    if (!(await confirmOnTerminal(`Delete ${server}? ${RESTORABLE}`)))
      throw failed('it was not deleted');
  }
  const { data } = await client.deleteGameServer({ slice });
  report({ data, message: `${server} is deleted. ${RESTORABLE}` }, options);
}

async function showQuota(options: CallOptions): Promise<void> {
  const { limits, used, services } = (await connect(options).readServerQuota()).data;
  if (options.json === true) {
    printJson({ limits, used, services });
    return;
  }
  const rows = [
    ['servers', ''],
    ['memory', ' MiB'],
    ['cpu', ' %'],
    ['disk', ' MiB'],
  ] as const;
  await printTable(
    ['', 'USED', 'OF'],
    rows.map(([name, unit]) => [name, `${used[name]}${unit}`, `${limits[name]}${unit}`]),
  );
  if (services.length < 2) return;
  print('');
  await printTable(
    ['SERVICE', 'NAME'],
    services.map(({ id, name }) => [String(id), printable(name)]),
  );
}
