import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '@portcullis/cli/testing/free-port.ts';
import { sql } from 'kysely';
import type { FileHost } from '../../stack/file-host.ts';
import { confineSshd } from '../../stack/sshd.ts';
import { eventually } from '../../system/stack-fixture.ts';
import type { Row } from '../report.ts';

const EMAIL = 'bench@example.net';
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
export async function sftpRows(
  host: FileHost,
  say: (line: string) => void,
): Promise<readonly Row[]> {
  // On the disk of the server's files.
  const home = mkdtempSync(join(host.home, 'sftp-'));
  try {
    prepare(home);
    const [ours, theirs] = [await serveOurs(host, home), await serveTheirs(home)];
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
  mkdirSync(join(home, 'theirs'));
}

/** The node, asked by the key of a member. */
async function serveOurs(host: FileHost, home: string): Promise<Served> {
  const key = readFileSync(join(home, 'id.pub'), 'utf8').split(' ')[1] ?? '';
  await sql`
    with p as (insert into people (email, name, password_hash)
                 values (${EMAIL}, 'Bench', 'none') returning id),
         m as (insert into members (organisation_id, person_id, role) select 1, id, 'member' from p)
    insert into person_ssh_keys (person_id, name, type, public_key)
    select id, 'bench', 'ssh-ed25519', ${Buffer.from(key, 'base64')} from p`.execute(host.db);
  const { sftpPort: port, folder } = host;
  return { port, user: `${EMAIL}.${host.uuid}`, folder, stop: async () => undefined };
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
