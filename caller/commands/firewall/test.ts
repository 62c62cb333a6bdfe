import type { Command } from 'commander';
import type { ExplainRequest } from '@portcullis/client/generated/operations.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import { accessOf, clientOf } from '../../connect.ts';
import { EXIT, failed, QuietExit } from '../../exit.ts';
import { eachOf } from '../../file/load.ts';
import type { Expectation, WantedAddress } from '../../file/rules-file.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { print, printJson, styled } from '../../output.ts';
import { readFile } from './file.ts';

interface TestOptions extends CallOptions {
  readonly file: string;
  readonly live?: boolean;
}

/** Sources that stand for everybody: far from each other, and in the address space that is announced. */
const ANYWHERE = {
  4: ['9.9.9.9', '85.214.1.1', '200.160.2.3'],
  6: ['2620:fe::fe', '2a01:4f8::1', '2001:12ff::10'],
} as const;

/** `firewall test`. */
export function addTest(firewall: Command): void {
  withCallOptions(
    firewall
      .command('test')
      .description('check what a file expects to pass and to be dropped, by explain')
      .requiredOption('-f, --file <file>', 'a file as of `firewall plan`, with "expect"')
      .option('--live', 'judge by what is live on every edge, instead of what is accepted'),
  )
    .addHelpText(
      'after',
      `
  portcullis firewall test -f rules.yaml

In the file, below an address; without "from" the packet comes from several places all over:

      expect:
        pass: [tcp 443, "tcp 22 from 198.51.100.7"]
        drop: [tcp 3306, icmp]

The exit code is 1 if an expectation does not hold.`,
    )
    .action(test);
}

interface Outcome {
  readonly ip: string;
  readonly expected: string;
  readonly holds: boolean;
  /** Of the first packet whose verdict is another. */
  readonly source: string | null;
  readonly explanation: string | null;
}

async function test(options: TestOptions): Promise<void> {
  const wanted = readFile(options.file);
  const packets = wanted.flatMap((address) =>
    address.expectations.map((expectation) => [address, expectation] as const),
  );
  if (packets.length === 0)
    throw failed(`${options.file} expects nothing: add "expect" to an address`);
  const client = clientOf(accessOf(options), { retries: 20 });
  const outcomes: Outcome[] = [];
  await eachOf(packets, async ([address, expectation], index) => {
    outcomes[index] = await check(client, address, expectation, options.live === true);
  });
  const broken = outcomes.filter(({ holds }) => !holds);
  if (options.json === true) printJson(outcomes, { meta: { failed: broken.length } });
  else for (const line of describe(outcomes, options.quiet === true)) print(line);
  if (broken.length > 0) throw new QuietExit(EXIT.failed);
}

function describe(outcomes: readonly Outcome[], isQuiet: boolean): string[] {
  const lines = outcomes
    .filter(({ holds }) => !isQuiet || !holds)
    .flatMap(({ ip, expected, holds, source, explanation }) =>
      holds
        ? [styled('green', `  ok    ${ip}: ${expected}`)]
        : [styled('red', `  FAIL  ${ip}: ${expected}`), `        from ${source}: ${explanation}`],
    );
  const broken = outcomes.filter(({ holds }) => !holds).length;
  return isQuiet ? lines : [...lines, `${outcomes.length - broken} hold, ${broken} do not.`];
}

async function check(
  client: KeyClient,
  { ip }: WantedAddress,
  { text, verdict, protocol, port, source }: Expectation,
  isLive: boolean,
): Promise<Outcome> {
  const sources = source === null ? ANYWHERE[ip.includes(':') ? 6 : 4] : [source];
  const outcome = { ip, expected: `${text} ${verdict === 'pass' ? 'passes' : 'is dropped'}` };
  for (const from of sources) {
    const body = {
      protocol: protocol as ExplainRequest['protocol'],
      source_ip: from,
      ...(port !== null && { destination_port: port }),
      ...(isLive && { view: 'live' as const }),
    };
    const { data } = await client.explainPacket({ ip, body });
    if (data.verdict !== verdict) {
      return { ...outcome, holds: false, source: from, explanation: data.explanation };
    }
  }
  return { ...outcome, holds: true, source: null, explanation: null };
}
