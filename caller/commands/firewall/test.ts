import type { Command } from 'commander';
import type { KeyClient } from '@portcullis/client/types.ts';
import { EXIT, QuietExit, usageError } from '../../exit.ts';
import { type Against, checkExpectations, describeOutcomes } from '../../file/expectations.ts';
import { loadPlans } from '../../file/load.ts';
import type { WantedAddress } from '../../file/rules-file.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { print, printJson } from '../../output.ts';
import { patientClient, readFile } from './file.ts';

interface TestOptions extends CallOptions {
  readonly file: string;
  readonly prune?: boolean;
  readonly accepted?: boolean;
  readonly live?: boolean;
}

/** `firewall test`. */
export function addTest(firewall: Command): void {
  withCallOptions(
    firewall
      .command('test')
      .description('check what a file expects to pass and to be dropped, once it is applied')
      .requiredOption('-f, --file <file>', 'a file as of `firewall plan`, with "expect"')
      .option('--prune', 'as `firewall apply --prune` would make it')
      .option('--accepted', 'evaluate what is accepted now, instead of what the file would make')
      .option('--live', 'evaluate what is live on every edge'),
  )
    .addHelpText(
      'after',
      `
  portcullis firewall test -f rules.yaml
  portcullis firewall test -f rules.yaml --live

In the file, below an address; without "from" it is what packets from most sources get:

      expect:
        pass: [tcp 443, "tcp 22 from 198.51.100.7"]
        drop: [tcp 3306, icmp]

Nothing is changed. The exit code is 1 if an expectation does not hold.`,
    )
    .action(test);
}

async function test(options: TestOptions): Promise<void> {
  if (options.live === true && (options.accepted === true || options.prune === true)) {
    throw usageError('--live is what edges have now: leave --accepted and --prune out');
  }
  const wanted = readFile(options.file).filter(({ expectations }) => expectations.length > 0);
  if (wanted.length === 0)
    throw usageError(`${options.file} expects nothing: add "expect" to an address`);
  const client = patientClient(options);
  const outcomes = await checkExpectations(
    client,
    wanted,
    await againstOf(client, wanted, options),
  );
  const broken = outcomes.filter(({ holds }) => !holds);
  if (options.json === true) printJson(outcomes, { meta: { failed: broken.length } });
  else for (const line of describeOutcomes(outcomes, options.quiet === true)) print(line);
  if (broken.length > 0) throw new QuietExit(EXIT.failed);
}

async function againstOf(
  client: KeyClient,
  wanted: readonly WantedAddress[],
  { prune, accepted, live }: TestOptions,
): Promise<(index: number) => Against> {
  if (live === true) return () => ({ view: 'live' });
  if (accepted === true) return () => ({ change: null });
  const plans = await loadPlans(client, wanted, { prune: prune === true, onRead: () => {} });
  return (index) => ({ change: plans[index]?.change ?? null });
}
