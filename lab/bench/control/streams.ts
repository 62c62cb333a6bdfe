import { type ClientRequest, get } from 'node:http';
import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { migrationUrl } from '@portcullis/control/db/embedded/roles.ts';
import { openDatabase } from '@portcullis/control/db/database.ts';
import type { Row } from '../report.ts';
import { type BenchFleet, makeKey } from './control-fixture.ts';
import { residentMib } from '../measure.ts';
import { mean, mustAnswer, runLoad } from './rounds.ts';
import { writes } from './writes.ts';

const KEYS = 25;
const STREAMS_PER_KEY = 20;
const ROUNDS = 4;
/** Ports of rounds that the other rows of writes do not use. */
const FIRST_ROUND = 100;

/** The cost of writes beside event streams of the same organisation that are never read. */
export async function streamRows(
  say: (line: string) => void,
  control: { readonly child: ChildProcess; readonly port: number; readonly databaseUrl: string },
  fleet: BenchFleet,
): Promise<Row[]> {
  const { child, port } = control;
  const measure = (round: number): number => {
    const created = runLoad(port, writes(fleet, port, FIRST_ROUND + round));
    mustAnswer(created, '201');
    return created.requestsPerSecond;
  };
  const rounds = Array.from({ length: ROUNDS }, (_, round) => round);
  const alone = mean(rounds.map(measure));
  const before = residentMib(child.pid);
  const streams = await openStreams(control, fleet);
  try {
    const beside = mean(rounds.map((round) => measure(ROUNDS + round)));
    const grown = residentMib(child.pid) - before;
    say(
      `streams: ${Math.round(beside)} creates/s beside ${streams.length}, alone ${Math.round(alone)}/s; control grew by ${Math.round(grown)} MiB`,
    );
    const which = `beside ${streams.length} event streams that are never read`;
    return [
      {
        name: `POST /firewall/ips/{ip}/rules ${which} (baseline: without)`,
        value: beside,
        unit: 'requests/s',
        baseline: alone,
        goal: 0.7,
      },
      { name: `control grows ${which}`, value: grown, unit: 'MiB', baseline: null, goal: null },
    ];
  } finally {
    for (const stream of streams) stream.destroy();
  }
}

async function openStreams(
  { port, databaseUrl }: { readonly port: number; readonly databaseUrl: string },
  { organisationId }: BenchFleet,
): Promise<ClientRequest[]> {
  const db = openDatabase({ url: migrationUrl(databaseUrl), poolSize: 1 });
  const streams: ClientRequest[] = [];
  try {
    for (let at = 0; at < KEYS; at++) {
      const authorization = `Bearer ${await makeKey(db, organisationId)}`;
      const opened = Array.from({ length: STREAMS_PER_KEY }, async () => {
        const url = `http://127.0.0.1:${port}/api/x1/events`;
        const request = get(url, { agent: false, headers: { authorization } });
        request.on('error', () => {});
        // Nobody reads the response.
        await once(request, 'response');
        streams.push(request);
      });
      await Promise.all(opened);
    }
  } finally {
    await db.destroy();
  }
  return streams;
}
