import type { ExplainedChange, ExplainRequest } from '@portcullis/client/generated/operations.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import { styled } from '../output.ts';
import { eachOf } from './load.ts';
import type { Expectation, WantedAddress } from './rules-file.ts';

/** Whether a packet gets the verdict that a file expects. */
export interface Outcome {
  readonly ip: string;
  readonly expected: string;
  readonly holds: boolean;
  /** Null: anywhere. */
  readonly source: string | null;
  /** Null: it holds. */
  readonly explanation: string | null;
}

/** The state that an expectation is evaluated against: what is live, or what is accepted, with a change of the address. */
export type Against = { readonly view: 'live' } | { readonly change: ExplainedChange | null };

/** Evaluates the expectations of addresses, in their order. */
export async function checkExpectations(
  client: KeyClient,
  wanted: readonly WantedAddress[],
  against: (index: number) => Against,
): Promise<readonly Outcome[]> {
  const all = wanted.flatMap(({ ip, expectations }, index) =>
    expectations.map((expectation) => ({ ip, index, expectation })),
  );
  const outcomes: Outcome[] = [];
  await eachOf(all, async ({ ip, index, expectation }, at) => {
    outcomes[at] = await check(client, ip, expectation, against(index));
  });
  return outcomes;
}

async function check(
  client: KeyClient,
  ip: string,
  { text, verdict, protocol, port, source }: Expectation,
  against: Against,
): Promise<Outcome> {
  const body = {
    protocol: protocol as ExplainRequest['protocol'],
    ...(source !== null && { source_ip: source }),
    ...(port !== null && { destination_port: port }),
    ...against,
  };
  const { data } = await client.explainPacket({ ip, body });
  const open = data.open_to;
  const mostPass = open?.to === 'everyone' || open?.to === 'most';
  const got = open === null ? data.verdict : mostPass ? 'pass' : 'drop';
  const expected = `${text} ${verdict === 'pass' ? 'passes' : 'is dropped'}`;
  const holds = got === verdict;
  return { ip, expected, holds, source, explanation: holds ? null : data.explanation };
}

/** One line an expectation, and another one where it does not hold. */
export function describeOutcomes(outcomes: readonly Outcome[], isQuiet: boolean): string[] {
  const lines = outcomes
    .filter(({ holds }) => !isQuiet || !holds)
    .flatMap(({ ip, expected, holds, source, explanation }) =>
      holds
        ? [styled('green', `  ok    ${ip}: ${expected}`)]
        : [
            styled('red', `  FAIL  ${ip}: ${expected}`),
            `        from ${source ?? 'anywhere'}: ${explanation}`,
          ],
    );
  const broken = outcomes.filter(({ holds }) => !holds).length;
  return isQuiet ? lines : [...lines, `${outcomes.length - broken} hold, ${broken} do not.`];
}
