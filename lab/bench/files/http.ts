import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '@portcullis/cli/testing/free-port.ts';
import type { FileHost } from '../../stack/file-host.ts';
import { NGINX } from '../../stack/game-servers.ts';
import { median, quantile, residentMib } from '../measure.ts';
import type { Row } from '../report.ts';
import type { FileRows } from './rows.ts';

const MIB = 1024 ** 2;
/** Two uploads and two downloads at once, each of this size. */
const STREAM_MIB = 1_024;
const SPEED_MIB = 512;
const ROUNDS = 5;
const ENTRIES = 20_000;
const LISTS = 20;
const LOOK_MS = 25;

type Say = (line: string) => void;

/** Uploads and downloads over HTTP, beside nginx on the same disk; what else is asked meanwhile; a large folder. */
export const httpRows: FileRows = async (host, say) => [
  ...(await speedRows(host, say)),
  ...(await memoryRows(host, say)),
  ...(await listRows(host, say)),
];

async function speedRows(host: FileHost, say: Say): Promise<Row[]> {
  const nginx = await startNginx(host);
  try {
    const local = join(host.home, 'speed.bin');
    makeFile(local, SPEED_MIB);
    const ours = { up: [] as number[], down: [] as number[] };
    const theirs = { up: [] as number[], down: [] as number[] };
    // Round 0 warms both up.
    for (let round = 0; round <= ROUNDS; round += 1) {
      const taken = {
        ours: {
          up: await upload(host, 'speed.bin', local),
          down: await download(host, 'speed.bin'),
        },
        theirs: {
          up: await timed(['-T', local, `${nginx.url}/speed.bin`]),
          down: await timed(['-o', '/dev/null', `${nginx.url}/speed.bin`]),
        },
      };
      if (round === 0) continue;
      for (const way of ['up', 'down'] as const) {
        ours[way].push(SPEED_MIB / taken.ours[way]);
        theirs[way].push(SPEED_MIB / taken.theirs[way]);
      }
    }
    for (const way of ['up', 'down'] as const)
      say(
        `${way}: ${Math.round(median(ours[way]))} beside ${Math.round(median(theirs[way]))} MiB/s`,
      );
    return [
      row('upload by HTTP, beside nginx', median(ours.up), 'MiB/s', median(theirs.up), 0.7),
      row('download by HTTP, beside nginx', median(ours.down), 'MiB/s', median(theirs.down), 0.7),
    ];
  } finally {
    nginx.child.kill('SIGKILL');
  }
}

async function memoryRows(host: FileHost, say: Say): Promise<Row[]> {
  const local = join(host.home, 'stream.bin');
  makeFile(local, STREAM_MIB);
  await upload(host, 'stream.bin', local);
  const idle = await callsDuring(host, delay(3_000));
  const before = { node: residentMib(host.nodePid), control: residentMib(host.controlPid()) };
  const most = { ...before };
  const timer = setInterval(() => {
    most.node = Math.max(most.node, residentMib(host.nodePid));
    most.control = Math.max(most.control, residentMib(host.controlPid()));
  }, LOOK_MS);
  const streams = Promise.all([
    upload(host, 'one.bin', local),
    upload(host, 'two.bin', local),
    download(host, 'stream.bin'),
    download(host, 'stream.bin'),
  ]);
  const busy = await callsDuring(host, streams);
  clearInterval(timer);
  rmSync(local);
  say(
    `four streams: node ${Math.round(before.node)} to ${Math.round(most.node)} MiB, control ${Math.round(before.control)} to ${Math.round(most.control)} MiB`,
  );
  const during = 'during four streams of 1 GB';
  return [
    row(`memory of the node ${during}, more than before`, most.node - before.node, 'MiB', null, 64),
    row(
      `memory of control ${during}, more than before`,
      most.control - before.control,
      'MiB',
      null,
      64,
    ),
    ...(['power', 'console'] as const).flatMap((kind) =>
      [0.5, 0.95].map((share) =>
        row(
          `${kind} call ${during}, beside none, p${share * 100}`,
          quantile(busy[kind], share),
          'ms',
          quantile(idle[kind], share),
          null,
        ),
      ),
    ),
  ].map((one) => (one.unit === 'MiB' ? { ...one, goalIs: 'at most' as const } : one));
}

interface CallTimes {
  readonly power: number[];
  readonly console: number[];
}

/** Milliseconds of power and console calls, one after the other while something else goes on. */
async function callsDuring(host: FileHost, work: Promise<unknown>): Promise<CallTimes> {
  const times: CallTimes = { power: [], console: [] };
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  over.catch(() => undefined);
  for (let call = 0; !isOver; call += 1) {
    const signal = JSON.stringify({ signal: call % 2 === 0 ? 'start' : 'kill' });
    times.power.push(await answered(host, `/api/v1/game-servers/${host.uuid}/power`, signal));
    times.console.push(await answered(host, `/api/x1/game-servers/${host.uuid}/console`, null));
    await delay(LOOK_MS);
  }
  await over;
  return times;
}

async function answered(host: FileHost, path: string, body: string | null): Promise<number> {
  const begin = performance.now();
  const response = await fetch(`${host.url()}${path}`, {
    method: body === null ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${host.key}`,
      ...(body !== null && { 'content-type': 'application/json' }),
    },
    ...(body !== null && { body }),
  });
  const text = await response.text();
  // The node refuses a start while the server ends, and has answered then too.
  if (!response.ok && response.status !== 502)
    throw new Error(`${path}: ${response.status} ${text}`);
  return performance.now() - begin;
}

async function listRows(host: FileHost, say: Say): Promise<Row[]> {
  const folder = join(host.folder, 'many');
  mkdirSync(folder);
  for (let index = 0; index < ENTRIES; index += 1) writeFileSync(join(folder, `${index}.txt`), 'x');
  const times: number[] = [];
  for (let round = 0; round <= LISTS; round += 1) {
    const begin = performance.now();
    const response = await host.call('?path=many&per_page=200&sort=name');
    const { meta } = (await response.json()) as { readonly meta: { readonly total: number } };
    if (meta.total !== ENTRIES) throw new Error(`${meta.total} entries are listed`);
    if (round > 0) times.push(performance.now() - begin);
  }
  say(`list: ${Math.round(median(times))} ms`);
  const name = `list of a folder of ${ENTRIES} entries, a page of 200`;
  return [{ ...row(name, median(times), 'ms', null, 200), goalIs: 'at most' }];
}

function row(
  name: string,
  value: number,
  unit: string,
  baseline: number | null,
  goal: number | null,
): Row {
  return { name, value, unit, baseline, goal };
}

function makeFile(path: string, mib: number): void {
  const block = Buffer.alloc(MIB, 'portcullis ');
  writeFileSync(path, '');
  for (let at = 0; at < mib; at += 64)
    writeFileSync(
      path,
      Buffer.concat(Array.from({ length: Math.min(64, mib - at) }, () => block)),
      {
        flag: 'a',
      },
    );
}

function upload(host: FileHost, path: string, local: string): Promise<number> {
  const { size } = statSync(local);
  const at = `${host.url()}/api/x1/game-servers/${host.uuid}/files/upload`;
  return timed([...authorised(host), '-T', local, `${at}?path=${path}&offset=0&size=${size}`]);
}

function download(host: FileHost, path: string): Promise<number> {
  const at = `${host.url()}/api/x1/game-servers/${host.uuid}/files/content`;
  return timed([...authorised(host), '-o', '/dev/null', `${at}?path=${path}&raw=true`]);
}

function authorised({ key }: FileHost): readonly string[] {
  return ['-H', `Authorization: Bearer ${key}`];
}

/** Seconds that curl takes. */
async function timed(args: readonly string[]): Promise<number> {
  const begin = performance.now();
  const child = spawn('curl', ['-sSf', ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`curl ended with ${code}`);
  return (performance.now() - begin) / 1_000;
}

async function startNginx(
  host: FileHost,
): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const home = join(host.home, 'nginx');
  for (const folder of ['www', 'tmp']) mkdirSync(join(home, folder), { recursive: true });
  const port = await freePort();
  const conf = join(home, 'nginx.conf');
  writeFileSync(
    conf,
    `daemon off; user root; worker_processes 1; pid ${home}/pid; error_log ${home}/error.log;
     events { worker_connections 64; }
     http {
       access_log off; sendfile on; client_max_body_size 0;
       client_body_temp_path ${home}/tmp; proxy_temp_path ${home}/tmp; fastcgi_temp_path ${home}/tmp;
       uwsgi_temp_path ${home}/tmp; scgi_temp_path ${home}/tmp;
       server { listen 127.0.0.1:${port}; root ${home}/www; dav_methods PUT; }
     }`,
  );
  const args = ['-e', `${home}/error.log`, '-c', conf];
  const child = spawn(NGINX.command, args, { stdio: 'ignore', cwd: home });
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 200; tries += 1) {
    const isUp = await fetch(url).then(
      () => true,
      () => false,
    );
    if (isUp) return { url, child };
    await delay(LOOK_MS);
  }
  child.kill('SIGKILL');
  throw new Error('nginx does not answer');
}
