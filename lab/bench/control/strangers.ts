import { generateSecret } from '@portcullis/control/access/index.ts';
import type { Row } from '../report.ts';
import type { BenchFleet } from './control-fixture.ts';
import { mean, mustAnswer, ROUND_MS, runLoad, startLoad } from './rounds.ts';

const STRANGERS = 100;
const ROUNDS = 4;
const KEYS = 5_000;

/** How long a caller waits while strangers, each from an address of its own, try keys that are well-formed and unknown. */
export async function strangersRow(
  say: (line: string) => void,
  port: number,
  fleet: BenchFleet,
): Promise<Row> {
  const [ip = ''] = fleet.addresses;
  const text = (key: string): string =>
    `GET /api/v1/firewall/ips/${ip} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  const own = [text(fleet.key)];
  const unknown = Array.from({ length: KEYS }, () => text(generateSecret()));
  const sources = Array.from({ length: STRANGERS }, (_, at) => `127.0.1.${at + 1}`);
  const alone: number[] = [];
  const beside: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const without = runLoad(port, own, 1);
    const strangers = startLoad(port, unknown, {
      connections: STRANGERS,
      durationMs: 3 * ROUND_MS,
      sources,
    });
    const within = runLoad(port, own, 1);
    mustAnswer(without, '200');
    mustAnswer(within, '200');
    const refused = await strangers;
    say(
      `strangers round ${round}: median ${within.p50Ms.toFixed(1)} ms, alone ${without.p50Ms.toFixed(1)} ms; strangers got ${JSON.stringify(refused.statuses)}`,
    );
    if (round === 0) continue;
    alone.push(without.p50Ms);
    beside.push(within.p50Ms);
  }
  return {
    name: `median read of a caller beside ${STRANGERS} strangers with unknown keys (baseline: alone)`,
    value: mean(beside),
    unit: 'ms',
    baseline: mean(alone),
    goal: null,
  };
}
