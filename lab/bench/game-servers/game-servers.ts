import { request } from 'node:http';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { importBusybox } from '../../docker/docker-image.ts';
import { Dockerd } from '../../docker/dockerd.ts';
import { createInternet } from '../../stack/internet.ts';
import { missing } from '../../requirements.ts';
import { type Stack, startStack } from '../../stack/stack.ts';
import { IDLE_EGG, serversFleet, uuidOf } from './game-servers-fixture.ts';
import { inProcessDelays } from './game-servers-node.ts';
import { quantile, residentMib } from '../measure.ts';
import type { Bench, Row } from '../report.ts';

const LISTED = 1_000;
const RUNNING = 100;
const READS = 300;
const LISTS = 200;
/** A route that asks neither the database nor a node. */
const NOTHING = '/healthz';
const CALLS = 100;
/** Between two looks at memory that no longer grows. */
const SETTLE_MS = 10_000;
const PATIENCE_MS = 300_000;
const AGAIN_MS = 50;

type Say = (line: string) => void;

/** The cost of game servers: a call on one, a look at one, a list of many, and an agent that has many. */
export const gameServersBench: Bench = {
  name: 'game-servers',
  missing: () => missing(['root', 'netns', 'nft', 'bpf', 'postgres', 'docker']),
  run: async (say) => [...(await inProcess(say)), ...(await wholeStack(say))],
};

async function inProcess(say: Say): Promise<Row[]> {
  const delays = await inProcessDelays();
  return rowsOf(say, 'power call to acceptance by the agent, engine in process', delays);
}

async function wholeStack(say: Say): Promise<Row[]> {
  const internet = createInternet('bench');
  let dockerd: Dockerd | null = null;
  let stack: Stack | null = null;
  try {
    // The real one takes the place of its imitation.
    internet.edge.run('ip', 'link', 'delete', 'docker0');
    internet.edge.run('nft', 'delete', 'table', 'ip', 'dockerlike');
    dockerd = await Dockerd.start('bench', { namespace: internet.edge });
    await importBusybox(dockerd);
    stack = await startStack(internet, {
      fleet: serversFleet(LISTED, RUNNING),
      files: { 'idle.json': IDLE_EGG },
      args: ['--enforce', '--docker-host', `unix://${dockerd.socket}`],
    });
    return await stackRows(stack, dockerd, say);
  } finally {
    await stack?.stop();
    await dockerd?.stop();
    internet.destroy();
  }
}

async function stackRows(stack: Stack, dockerd: Dockerd, say: Say): Promise<Row[]> {
  const uuids = Array.from({ length: RUNNING }, (_, at) => uuidOf(at));
  await reached(stack, uuids, ({ provisioned }) => provisioned);
  const restingMib = residentMib(stack.pidOf('node/main.ts'));
  const begin = performance.now();
  await Promise.all(uuids.map((uuid) => power(stack, uuid, 'start')));
  await reached(stack, uuids, ({ state }) => state === 'running');
  say(`${RUNNING} servers came to run in ${Math.round(performance.now() - begin)} ms`);
  await delay(SETTLE_MS);
  const busyMib = residentMib(stack.pidOf('node/main.ts'));
  const [first = ''] = uuids;
  const container = await containerOf(dockerd, first);
  const [floor = [], reads = [], inspects = []] = await inTurn(READS, [
    () => stack.api.call('GET', NOTHING),
    () => get(stack, `/api/v1/game-servers/${first}`),
    () => inspect(dockerd.socket, container),
  ]);
  const [bare = [], lists = []] = await inTurn(LISTS, [
    () => stack.api.call('GET', NOTHING),
    () => get(stack, '/api/v1/game-servers'),
  ]);
  const called = await calls(stack, first);
  return [
    ...rowsOf(say, `POST power to acceptance over Docker, ${RUNNING} running`, called),
    ...rowsOf(say, 'GET of one server, live from its node, beside docker inspect', reads, inspects),
    ...rowsOf(say, 'GET of one server, live from its node, beside a GET of nothing', reads, floor),
    ...rowsOf(say, `GET of the list, ${LISTED} servers, beside a GET of nothing`, lists, bare),
    row(
      `resident memory of the agent, ${RUNNING} idle servers, beside none`,
      busyMib,
      'MiB',
      restingMib,
    ),
  ];
}

/** Kills and starts one server in turn: every call changes something. */
async function calls(stack: Stack, uuid: string): Promise<number[]> {
  const delays: number[] = [];
  for (let call = 0; call < CALLS; call++) {
    const isKill = call % 2 === 0;
    delays.push(await timed(() => power(stack, uuid, isKill ? 'kill' : 'start')));
    await reached(stack, [uuid], ({ state }) => state === (isKill ? 'offline' : 'running'));
  }
  return delays;
}

interface Detail {
  readonly provisioned: boolean;
  readonly state: string | null;
}

async function reached(
  stack: Stack,
  uuids: readonly string[],
  isSo: (detail: Detail) => boolean,
): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS;
  for (const uuid of uuids) {
    for (;;) {
      const { data } = await get<{ readonly data: Detail }>(stack, `/api/v1/game-servers/${uuid}`);
      if (isSo(data)) break;
      if (performance.now() > untilMs) throw new Error(`${uuid} stays ${JSON.stringify(data)}`);
      await delay(AGAIN_MS);
    }
  }
}

async function get<T>(stack: Stack, path: string): Promise<T> {
  const { status, body } = await stack.api.call<T>('GET', path);
  if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
  return body;
}

async function power(stack: Stack, uuid: string, signal: 'start' | 'kill'): Promise<void> {
  const path = `/api/v1/game-servers/${uuid}/power`;
  const { status, body } = await stack.api.call('POST', path, { signal });
  if (status !== 200) throw new Error(`${signal}: ${status} ${JSON.stringify(body)}`);
}

async function containerOf(dockerd: Dockerd, uuid: string): Promise<string> {
  const listed = JSON.parse(await dockerd.call('GET', '/containers/json')) as readonly {
    readonly Id: string;
    readonly Names: readonly string[];
  }[];
  const found = listed.find(({ Names }) => Names.some((name) => name.endsWith(uuid)));
  if (found === undefined) throw new Error(`no container of ${uuid}`);
  return found.Id;
}

async function inspect(socketPath: string, id: string): Promise<void> {
  const asked = request({ socketPath, path: `/containers/${id}/json`, agent: false });
  asked.end();
  const [answer] = await once(asked, 'response');
  answer.resume();
  await once(answer, 'end');
}

/** Milliseconds of each, one after the other, in turns: what the machine does meanwhile is in all alike. */
async function inTurn(
  rounds: number,
  works: readonly (() => Promise<unknown>)[],
): Promise<number[][]> {
  const delays = works.map((): number[] => []);
  for (let round = 0; round < rounds; round++)
    for (const [at, work] of works.entries()) delays[at]?.push(await timed(work));
  return delays;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}

function rowsOf(
  say: Say,
  name: string,
  delays: readonly number[],
  baseline: readonly number[] | null = null,
): Row[] {
  const shares = [['p50', 0.5] as const, ['p99', 0.99] as const];
  const rows = shares.map(([label, share]) =>
    row(`${name}, ${label}`, quantile(delays, share), 'ms', baseline && quantile(baseline, share)),
  );
  say(`${name}: ${rows.map(({ value }) => `${value.toFixed(2)} ms`).join(', ')}`);
  return rows;
}

function row(name: string, value: number, unit: string, baseline: number | null): Row {
  return { name, value, unit, baseline, goal: null };
}
