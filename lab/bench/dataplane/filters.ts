import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import { fits } from '@portcullis/core/filters/evaluate.ts';
import type { Filter } from '@portcullis/core/filters/filter.ts';
import { EMPTY_POLICY } from '@portcullis/core/firewall/policy.ts';
import { TABLE } from '@portcullis/dataplane/nftables/names.ts';
import { filteredPolicy } from '@portcullis/dataplane/testing/policies.ts';
import type { Plan } from '../generator/plan.ts';
import { missing } from '../../requirements.ts';
import { type Case, measure, rateOf } from '../measure.ts';
import { addressOf, OPEN_PORT } from './policies.ts';
import type { Bench, Row } from '../report.ts';
import { load, Subjects } from './subjects.ts';

const ADDRESS = addressOf(4, 0);
const CLIENT_PORT = 40_000;
/** Sources under this mask of 11.0.0.0: each sends less than a validated source may. */
const CLIENTS = 4_096;
/** The payload of the generator's packets. */
const PAYLOAD = Buffer.alloc(18);

const plan = (clients: number, tcpShare: number): Omit<Plan, 'to' | 'from'> => ({
  family: 4,
  destination: ADDRESS,
  destinations: 1,
  source: '11.0.0.0',
  sourceRandom: clients - 1,
  sourcePorts: [CLIENT_PORT, CLIENT_PORT],
  ports: [OPEN_PORT, OPEN_PORT],
  tcpShare,
});
const FORGED = 1 << 24;

/**
 * The cost of each filter: a flood of forged sources, and traffic of validated ones, through the edge's own process, beside
 * the same edge without it. All TCP filters take the path of `tcp-syn-proxy` until a connection is open.
 */
export const filtersBench: Bench = {
  name: 'filters',
  missing: () => missing(['root', 'netns', 'nft', 'bpf', 'ethtool']),
  async run(say) {
    const rows: Row[] = [];
    for (const filter of FILTERS) {
      if (filter.udp === null && filter.type !== 'tcp-syn-proxy') continue;
      rows.push(...(await rowsOf(filter, say)));
    }
    return rows;
  },
};

async function rowsOf(filter: Filter, say: (line: string) => void): Promise<Row[]> {
  const { type, udp } = filter;
  const subjects = new Subjects(type.slice(0, 8));
  const tcpShare = udp === null ? 1 : 0;
  try {
    const without: Case = {
      name: 'without',
      target: await subjects.edgeWith([{ target: ADDRESS, ...EMPTY_POLICY }]),
      plan: plan(CLIENTS, tcpShare),
      expected: 'pass',
    };
    const filtered = [
      filteredPolicy(ADDRESS, [filter.type as Parameters<typeof filteredPolicy>[1][0], OPEN_PORT]),
    ];
    const flood: Case = {
      name: udp === null ? `${type}, SYNs that it answers` : `${type}, flood`,
      target: await subjects.edgeWith(filtered),
      plan: plan(FORGED, tcpShare),
      // An answer leaves the edge as what passes does.
      expected: udp === null ? 'pass' : 'drop',
    };
    const passes =
      udp !== null &&
      udp.replies !== null &&
      (udp.data.length === 0 || udp.data.some((one) => fits(one, PAYLOAD)));
    const cases = [without, flood];
    if (passes) {
      const { target, edge } = await subjects.running(filtered);
      load(target, validated());
      // An agent that starts learns them, as the early drop has not seen the replies.
      await edge.stop();
      await edge.start();
      cases.push({ name: `${type}, validated`, target, plan: plan(CLIENTS, 0), expected: 'pass' });
    }
    const times = await measure(subjects.range, cases, say);
    return cases.slice(1).map(({ name }) => ({
      name: `${name} (baseline: packets that pass the same edge without it)`,
      value: rateOf(times.get(name) ?? Number.NaN),
      unit: 'M packets/s',
      baseline: rateOf(times.get('without') ?? Number.NaN),
      goal: null,
    }));
  } finally {
    await subjects.destroy();
  }
}

/** Every client is validated, as by a reply of the server. */
function validated(): string {
  const keys = Array.from(
    { length: CLIENTS },
    (_, at) =>
      `11.0.${at >> 8}.${at & 255} . ${CLIENT_PORT} . ${ADDRESS} . ${OPEN_PORT} timeout 1h`,
  );
  return `add element ${TABLE} validated4 { ${keys.join(', ')} }\n`;
}
