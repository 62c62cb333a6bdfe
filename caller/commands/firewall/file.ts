import type { Command } from 'commander';
import type { KeyClient } from '@portcullis/client/types.ts';
import { countOf } from '@portcullis/core/count.ts';
import { confirmOnTerminal } from '../../confirm.ts';
import { accessOf, clientOf } from '../../connect.ts';
import { EXIT, failed, QuietExit, usageError } from '../../exit.ts';
import { applyPlans } from '../../file/apply.ts';
import { checkExpectations, describeOutcomes, type Outcome } from '../../file/expectations.ts';
import { loadPlans } from '../../file/load.ts';
import type { AddressPlan, Change } from '../../file/plan.ts';
import { parseRulesFile, type WantedAddress } from '../../file/rules-file.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { print, printJson, styled, warn } from '../../output.ts';
import { readText } from '../../read-text.ts';
import { Progress } from '../../progress.ts';
import { waitIfAsked, withWriteOptions, type WriteOptions } from '../../waiting.ts';

interface PlanOptions extends CallOptions {
  readonly file: string;
  readonly prune?: boolean;
  readonly detailedExitcode?: boolean;
}

interface ApplyOptions extends PlanOptions, WriteOptions {
  readonly yes?: boolean;
}

const FILE = 'the file; see "portcullis firewall schema" and the cookbook';
const EXAMPLE = `
A file:

  addresses:
    203.0.113.10:
      default: deny
      rules:
        - { action: allow, protocol: tcp, destination_port: "80,443", ref: web }
        - { action: allow, protocol: tcp, destination_port: "22", source_ip: 198.51.100.0/24 }
      filters:
        - { type: udp-stateful, port: "27015" }
      blocked: [192.0.2.7]
      expect:
        pass: [tcp 443]
        drop: [tcp 3306]`;
const PRUNE = 'also delete own rules and filters of these addresses that the file does not name';

/** `firewall plan` and `apply`. */
export function addFileCommands(firewall: Command): void {
  withCallOptions(
    firewall
      .command('plan')
      .description('what would make addresses as a file says; changes nothing')
      .requiredOption('-f, --file <file>', FILE)
      .option('--prune', PRUNE)
      .option('--detailed-exitcode', 'exit with 3 if there is something to change'),
  )
    .addHelpText(
      'after',
      `
  portcullis firewall plan -f rules.yaml
  portcullis firewall plan -f rules.yaml --prune --detailed-exitcode
${EXAMPLE}`,
    )
    .action(plan);
  withWriteOptions(
    firewall
      .command('apply')
      .description(
        'make addresses as a file says; a run that was interrupted is finished by the next',
      )
      .requiredOption('-f, --file <file>', FILE)
      .option('--prune', PRUNE)
      .option('--yes', 'do not ask'),
  )
    .addHelpText(
      'after',
      `
  portcullis firewall apply -f rules.yaml
  portcullis firewall apply -f rules.yaml --prune --yes --wait`,
    )
    .action(apply);
}

/** Control answers 429 with a time to wait when the limit of the key is reached, which long files do. */
export function patientClient(options: CallOptions): KeyClient {
  return clientOf(accessOf(options), { retries: 20 });
}

async function plan(options: PlanOptions): Promise<void> {
  const wanted = readFile(options.file);
  const client = patientClient(options);
  const plans = await load(client, wanted, options);
  const outcomes = await checkResult(client, wanted, plans);
  show(plans, outcomes, options);
  refuseProblems(plans, outcomes);
  if (options.detailedExitcode === true && changesIn(plans) > 0) throw new QuietExit(EXIT.changes);
}

async function apply(options: ApplyOptions): Promise<void> {
  const wanted = readFile(options.file);
  const client = patientClient(options);
  const plans = await load(client, wanted, options);
  const outcomes = await checkResult(client, wanted, plans);
  if (options.json !== true && options.quiet !== true) show(plans, outcomes, options);
  refuseProblems(plans, outcomes);
  const work = plans.flatMap((one, index) => {
    const address = wanted[index];
    return one.changes.length === 0 || address === undefined ? [] : [[address, one] as const];
  });
  if (work.length > 0 && options.yes !== true) await confirm(changesIn(plans));
  const { done, generation } = await write(client, work, options);
  if (done < work.length) {
    const left = `${done} of ${work.length} addresses are done; the same command finishes the others`;
    throw failed(`interrupted: ${left}`);
  }
  await waitIfAsked(client, generation, options);
  if (options.json === true) {
    printJson({
      ...jsonOf(plans, outcomes),
      applied: done,
      generation,
      live: options.wait === true,
    });
  } else if (options.quiet !== true && done > 0) {
    const [first] = work;
    if (options.wait === true) print(`Live on every edge: ${addresses(done)}.`);
    else if (first !== undefined) {
      const { meta } = await client.readAcceptedAddress({ ip: first[0].ip });
      print(`Accepted: ${addresses(done)}. ${meta.propagation.text} --wait waits for it.`);
    }
  }
}

async function confirm(changes: number): Promise<void> {
  if (!process.stdin.isTTY) throw usageError('nobody is there to confirm: give --yes');
  if (!(await confirmOnTerminal(`Make ${countOf(changes, 'change')}?`))) {
    throw failed('nothing was changed');
  }
}

async function write(
  client: KeyClient,
  work: readonly (readonly [WantedAddress, AddressPlan])[],
  options: ApplyOptions,
): Promise<{ readonly done: number; readonly generation: number | null }> {
  const progress = new Progress(options);
  let isStopped = false;
  const stop = (): void => {
    if (!isStopped) warn('Finishing the writes under way. Press Ctrl-C again to end at once.');
    else process.exit(EXIT.failed);
    isStopped = true;
  };
  process.on('SIGINT', stop);
  let done = 0;
  try {
    return await applyPlans(client, work, {
      prune: options.prune === true,
      isStopped: () => isStopped,
      verify: async (address, plan) => refuseBroken(await checkResult(client, [address], [plan])),
      onDone: (count) => {
        done = count;
        progress.show(`${done} of ${work.length} addresses`);
      },
    });
  } catch (error) {
    const left = `${done} of ${work.length} addresses are done; the same command finishes the others`;
    if (done > 0) warn(`${left}.`);
    throw error;
  } finally {
    process.off('SIGINT', stop);
    progress.end();
  }
}

export function readFile(file: string): readonly WantedAddress[] {
  return parseRulesFile(readText(file), file);
}

async function load(
  client: KeyClient,
  wanted: readonly WantedAddress[],
  options: PlanOptions,
): Promise<readonly AddressPlan[]> {
  const progress = new Progress(options);
  try {
    return await loadPlans(client, wanted, {
      prune: options.prune === true,
      onRead: (done) => progress.show(`reading: ${done} of ${wanted.length} addresses`),
    });
  } finally {
    progress.end();
  }
}

function changesIn(plans: readonly AddressPlan[]): number {
  return plans.reduce((sum, { changes }) => sum + changes.length, 0);
}

/** The expectations of the file, evaluated against the result of applying it. */
async function checkResult(
  client: KeyClient,
  wanted: readonly WantedAddress[],
  plans: readonly (Pick<AddressPlan, 'change'> & Partial<AddressPlan>)[],
): Promise<readonly Outcome[]> {
  // Control would not evaluate what it refuses.
  if (plans.some(({ problem = null }) => problem !== null)) return [];
  return checkExpectations(client, wanted, (index) => ({ change: plans[index]?.change ?? null }));
}

function refuseProblems(plans: readonly AddressPlan[], outcomes: readonly Outcome[]): void {
  const lines = plans.flatMap(({ ip, problem }) => (problem === null ? [] : [`${ip}: ${problem}`]));
  if (lines.length > 0) throw failed(`control would refuse this:\n${lines.join('\n')}`);
  refuseBroken(outcomes);
}

function refuseBroken(outcomes: readonly Outcome[]): void {
  const broken = outcomes.filter(({ holds }) => !holds);
  if (broken.length === 0) return;
  const named = describeOutcomes(broken, true).join('\n');
  throw failed(`the result would not be what the file expects:\n${named}`);
}

export function addresses(count: number): string {
  return `${count} address${count === 1 ? '' : 'es'}`;
}

const COLOURS = { opens: 'green', closes: 'red', filters: 'cyan', marks: 'dim' } as const;

function show(
  plans: readonly AddressPlan[],
  outcomes: readonly Outcome[],
  options: CallOptions,
): void {
  if (options.json === true) return printJson(jsonOf(plans, outcomes));
  for (const { ip, changes, notes } of plans) {
    const shown = options.quiet === true ? [] : notes;
    if (changes.length + shown.length === 0) continue;
    print(styled('bold', ip));
    for (const change of changes) print(lineOf(change));
    for (const note of shown) print(styled('dim', `    ${note}`));
  }
  if (options.quiet === true) return;
  const count = changesIn(plans);
  const changed = plans.filter(({ changes }) => changes.length > 0).length;
  print(
    count === 0
      ? `Nothing to change: ${addresses(plans.length)} as in the file.`
      : `${countOf(count, 'change')} on ${changed} of ${addresses(plans.length)}.`,
  );
}

function lineOf({ operation, effect, text }: Change): string {
  return styled(COLOURS[effect], `  ${SIGNS[operation]} ${effect.padEnd(8)}${text}`);
}

const SIGNS = { add: '+', remove: '-', change: '~' } as const;

function jsonOf(plans: readonly AddressPlan[], outcomes: readonly Outcome[]) {
  return {
    changes: changesIn(plans),
    addresses: plans.map(({ ip, changes, notes, problem }) => ({
      ip,
      changes: changes.map(({ operation, effect, text, object }) => ({
        operation,
        effect,
        ...object,
        text,
      })),
      notes,
      problem,
    })),
    expectations: outcomes,
  };
}
