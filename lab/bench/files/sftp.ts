import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { scratchRoot } from '@portcullis/control/db/scratch.ts';
import { FILE_RIGHTS } from '@portcullis/core/access/server-rights.ts';
import { createMeasureDisk } from '@portcullis/node/disk/measure.ts';
import { FileService } from '@portcullis/node/files/service.ts';
import { SftpDoor } from '@portcullis/node/sftp/door.ts';
import { confineSshd } from '../../stack/sshd.ts';
import { eventually } from '../../system/stack-fixture.ts';
import type { Row } from '../report.ts';

const UUID = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11';
const LARGE_MB = 500;
const SMALL_FILES = 2_000;
const SMALL_BYTES = 4_096;
const ROUNDS = 3;
/** The goal of the issue: this share of what OpenSSH's internal-sftp does beside it. */
const GOAL = 0.8;
/** One that both have, whatever each would prefer. */
const CIPHER = 'aes128-gcm@openssh.com';
const none = (): void => {};

/** A server of SFTP with its user, and the folder that it serves. */
interface Served {
  readonly port: number;
  readonly user: string;
  readonly folder: string;
  stop(): Promise<void>;
}

type Operation = 'put large' | 'get large' | 'put small' | 'get small';
const OPERATIONS: readonly Operation[] = ['put large', 'get large', 'put small', 'get small'];
const NAMES: Readonly<Record<Operation, string>> = {
  'put large': `SFTP put of ${LARGE_MB} MB, beside internal-sftp`,
  'get large': `SFTP get of ${LARGE_MB} MB, beside internal-sftp`,
  'put small': `SFTP put of ${SMALL_FILES} files of 4 KiB, beside internal-sftp`,
  'get small': `SFTP get of ${SMALL_FILES} files of 4 KiB, beside internal-sftp`,
};

/** Measures SFTP of a node beside OpenSSH's own server, by OpenSSH's client, in turns on the same disk. */
export async function sftpRows(say: (line: string) => void): Promise<readonly Row[]> {
  const home = mkdtempSync(join(scratchRoot(), 'pcl-bench-sftp-'));
  try {
    prepare(home);
    const [ours, theirs] = [await serveOurs(home), await serveTheirs(home)];
    try {
      const taken = new Map<string, number[]>();
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const operation of OPERATIONS) {
          for (const [name, served] of [
            ['ours', ours],
            ['theirs', theirs],
          ] as const) {
            const ms = await timed(home, served, operation);
            const key = `${name} ${operation}`;
            taken.set(key, [...(taken.get(key) ?? []), ms]);
          }
        }
        say(`SFTP: round ${round + 1} of ${ROUNDS} done`);
      }
      return OPERATIONS.map((operation) => {
        const rate = (name: string) => rateOf(operation, median(taken.get(`${name} ${operation}`)));
        const unit = operation.endsWith('large') ? 'MB/s' : 'files/s';
        const value = rate('ours');
        return { name: NAMES[operation], value, unit, baseline: rate('theirs'), goal: GOAL };
      });
    } finally {
      await ours.stop();
      await theirs.stop();
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function prepare(home: string): void {
  mkdirSync(join(home, 'small'));
  writeFileSync(join(home, 'large'), Buffer.alloc(LARGE_MB * 1_000_000, 'portcullis'));
  for (let count = 0; count < SMALL_FILES; count += 1)
    writeFileSync(join(home, 'small', `${count}`), Buffer.alloc(SMALL_BYTES, `${count}`));
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(home, 'id')]);
  for (const name of ['ours', 'theirs']) mkdirSync(join(home, name));
}

/** The door of the node with its process, over a folder; a control that admits the key. */
async function serveOurs(home: string): Promise<Served> {
  const folder = join(home, 'ours');
  const log = { debug: none, info: none, warn: none, error: none };
  const measure = createMeasureDisk();
  const files: FileService = new FileService({
    find: () => ({ limitMib: 0, denylist: [] }),
    uuids: () => [UUID],
    openFolder: async () => ({ folder, owner: null, notice: null }),
    measureServer: async () => undefined,
    measure,
    log,
  });
  const session = { person: 1, server: UUID, credential: 'key:1' };
  const door = new SftpDoor({
    listen: { host: '127.0.0.1', port: 0 },
    stateDir: join(home, 'state'),
    files,
    log,
    onChange: none,
    control: {
      sftpLogin: async () => ({
        kind: 'sftp.admitted',
        session,
        actor: 'bench',
        rights: FILE_RIGHTS,
      }),
      sftpCheck: async (sessions) => sessions.map(() => FILE_RIGHTS),
      sftpActivity: async () => undefined,
    },
  });
  door.start();
  const stop = async (): Promise<void> => {
    await door.stop();
    await files.stop();
  };
  return { port: await door.listening, user: `a@b.example.${UUID}`, folder, stop };
}

async function serveTheirs(home: string): Promise<Served> {
  confineSshd();
  const port = await freePort();
  const folder = join(home, 'theirs');
  const options = [
    'ListenAddress=127.0.0.1',
    'PidFile=none',
    'UsePAM=no',
    'StrictModes=no',
    'PermitRootLogin=yes',
    `AuthorizedKeysFile=${join(home, 'id.pub')}`,
    `Subsystem=sftp internal-sftp -d ${folder}`,
  ].flatMap((one) => ['-o', one]);
  const key = join(home, 'host-key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  const args = ['-D', '-e', '-f', '/dev/null', '-h', key, '-p', String(port), ...options];
  const daemon = spawn('/usr/sbin/sshd', args, { stdio: 'ignore' });
  const served: Served = {
    port,
    user: 'root',
    folder,
    async stop() {
      const ended = once(daemon, 'exit');
      daemon.kill('SIGTERM');
      await ended;
    },
  };
  await eventually('sshd answers', () =>
    run(home, served, 'pwd').then(
      () => true,
      () => false,
    ),
  );
  return served;
}

/** Milliseconds of one operation; what it made is removed, outside of the time. */
async function timed(home: string, served: Served, operation: Operation): Promise<number> {
  const [what, size] = operation.split(' ') as ['get' | 'put', 'large' | 'small'];
  const commands = what === 'put' ? `put -r ${size}` : `get -r ${size} back`;
  if (what === 'get') execFileSync('cp', ['-r', join(home, size), join(served.folder, size)]);
  const begun = performance.now();
  await run(home, served, commands);
  const ms = performance.now() - begun;
  if (what === 'get') execFileSync('diff', ['-r', join(home, size), join(home, 'back')]);
  else execFileSync('diff', ['-r', join(home, size), join(served.folder, size)]);
  rmSync(join(home, 'back'), { recursive: true, force: true });
  rmSync(join(served.folder, size), { recursive: true, force: true });
  return ms;
}

async function run(home: string, { port, user }: Served, commands: string): Promise<void> {
  const options = [
    'StrictHostKeyChecking=no',
    `UserKnownHostsFile=${join(home, 'known')}`,
    'IdentitiesOnly=yes',
    `IdentityFile=${join(home, 'id')}`,
    `Ciphers=${CIPHER}`,
  ].flatMap((one) => ['-o', one]);
  const args = [...options, '-q', '-P', String(port), '-b', '-', `${user}@127.0.0.1`];
  const client: ChildProcess = spawn('sftp', args, { cwd: home });
  client.stdin?.on('error', none).end(`${commands}\n`);
  client.stdout?.resume();
  const errors = text(client.stderr as NodeJS.ReadableStream);
  const [code] = (await once(client, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`sftp ended with ${code}: ${await errors}`);
}

function rateOf(operation: Operation, ms: number): number {
  const amount = operation.endsWith('large') ? LARGE_MB : SMALL_FILES;
  return Math.round(amount / (ms / 1_000));
}

function median(values: readonly number[] = []): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}
