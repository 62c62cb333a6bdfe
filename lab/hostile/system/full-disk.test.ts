import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { FILE_RIGHTS } from '@portcullis/core/access/server-rights.ts';
import type { ConfigFile } from '@portcullis/core/game-servers/egg.ts';
import { createApplyConfigFiles } from '@portcullis/node/config-files/apply.ts';
import { OWNER, TestFiles, writing } from '@portcullis/node/files/testing/files.ts';
import { Listings, SftpSession } from '@portcullis/node/sftp/session.ts';
import { skipUnless } from '../../requirements.ts';
import { INTERNET } from '../files/world.ts';

const MIB = 1024 * 1024;
const UUID = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11';
/** More than is free, in bytes that do not compress. */
const CONTENT = Buffer.from(
  Uint32Array.from({ length: MIB }, (_, index) => Math.imul(index ^ 0x9e3779b9, 0x85ebca6b)).buffer,
);

/** A file system of 8 MiB, of which 6 are taken. */
function smallDisk(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'portcullis-small-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=755', 'tmpfs', path]);
  t.after(() => {
    execFileSync('umount', ['-l', path]);
    rmSync(path, { recursive: true, force: true });
  });
  return path;
}

const freeOf = (path: string): number => {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
};

type Door = (files: TestFiles, url: string) => Promise<string | undefined>;

/** Every way by which bytes come into the folder of a server. Each returns the code of its refusal. */
const DOORS: Readonly<Record<string, Door>> = {
  'a write': (files) => files.code(writing('new', CONTENT)),
  'a write over a file': (files) => files.code(writing('old', CONTENT)),
  'a copy': (files) => files.code({ kind: 'copy', from: 'big', to: 'new' }),
  'a copy of a folder': (files) => files.code({ kind: 'copy', from: 'folder', to: 'new' }),
  'an archive': (files) =>
    files.code({ kind: 'archive', paths: ['big'], to: 'new', format: 'tar' }),
  'an unpacked file': (files) => files.code({ kind: 'unpack', path: 'big.gz', to: 'out' }),
  'a pull of known size': (files, url) =>
    files.code({ kind: 'pull', url, path: 'new', replace: false }),
  'a pull of unknown size': (files, url) =>
    files.code({ kind: 'pull', url: `${url}/chunked`, path: 'new', replace: false }),
  'a pull over a file': (files, url) =>
    files.code({ kind: 'pull', url: `${url}/chunked`, path: 'old', replace: true }),
  'an upload': (files, url) => byUpload(files, url, 'new'),
  'an upload over a file': (files, url) => byUpload(files, url, 'old'),
  'a file by SFTP': (files) => bySftp(files, 'new'),
  'a file by SFTP over a file': (files) => bySftp(files, 'old'),
};

async function bySftp({ service }: TestFiles, path: string): Promise<string | undefined> {
  const session = { person: 1, server: UUID, credential: 'key:1' };
  const sftp = new SftpSession(
    service,
    { session, rights: FILE_RIGHTS },
    { record: () => undefined, listings: new Listings(1_000) },
  );
  const opened = await sftp.perform({ kind: 'open', path, flags: 0x1a });
  assert.ok(opened.kind === 'handle', JSON.stringify(opened));
  const { handle } = opened;
  let code: string | undefined;
  for (let offset = 0; offset < CONTENT.length && code === undefined; offset += 32_768) {
    const data = CONTENT.subarray(offset, offset + 32_768);
    const written = await sftp.perform({ kind: 'write', handle, offset, data });
    if (written.kind === 'refused') ({ code } = written);
  }
  const closed = await sftp.perform({ kind: 'close', handle });
  assert.equal(closed.kind, 'refused', 'a file that was not written whole is not kept as whole');
  return code;
}

/** Through the stream that the node opens to control. */
async function byUpload(files: TestFiles, url: string, path: string): Promise<string | undefined> {
  const ticket = { id: path, token: 'a'.repeat(43), url };
  const size = CONTENT.length;
  const order = { kind: 'receive', path, offset: 0, size, expected: null, ticket } as const;
  const begun = await files.code(order);
  if (begun !== 'receiving') return begun;
  const outcome = await files.code({ kind: 'outcome', id: path });
  // What has arrived waits for the rest for a day.
  await files.ok('done', { kind: 'dropUpload', path });
  return outcome;
}

/** A server that sends more than is free, to pulls and as control to uploads. */
async function serve(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url !== '/chunked') response.setHeader('content-length', CONTENT.length);
    response.on('error', () => undefined).end(CONTENT);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function tmpEmpty({ folder }: TestFiles): Promise<void> {
  const tmp = join(folder, '.portcullis/tmp');
  while (existsSync(tmp) && readdirSync(tmp).length > 0) await delay(10);
}

describe('a disk at its end', { skip: skipUnless(['root']) }, () => {
  for (const limit of ['the file system', 'the quota of the server'] as const) {
    it(`by ${limit} lets no door write more, and leaves no half file`, async (t) => {
      const isReal = limit === 'the file system';
      const files = new TestFiles(t, isReal ? smallDisk(t) : undefined);
      files.limitMib = isReal ? 0 : 8;
      files.pulls = { networks: INTERNET };
      const url = await serve(t);
      files.put('old', 'old');
      files.put('big', CONTENT.subarray(0, 3 * MIB));
      files.put('folder/big', CONTENT.subarray(0, MIB + MIB / 2));
      files.put('folder/more', CONTENT.subarray(0, MIB + MIB / 2));
      files.put('big.gz', gzipSync(Buffer.alloc(4 * MIB)));
      const free = freeOf(files.folder);
      for (const [door, through] of Object.entries(DOORS)) {
        assert.equal(await through(files, url), 'quota', door);
        await tmpEmpty(files);
        assert.equal(existsSync(join(files.folder, 'new')), false, door);
        assert.equal(readFileSync(join(files.folder, 'old'), 'utf8'), 'old', door);
        const out = join(files.folder, 'out');
        assert.deepEqual(existsSync(out) ? readdirSync(out) : [], [], door);
      }
      if (isReal) assert.ok(free - freeOf(files.folder) < MIB, 'what was written is free again');
      // What fits is written still.
      assert.equal(await files.code(writing('small', 'x')), 'written');
    });
  }

  it('leaves a configuration file as it was', async (t) => {
    const folder = join(smallDisk(t), 'server');
    mkdirSync(folder);
    const path = join(folder, 'server.properties');
    const before = `motd=old\n${'# a comment\n'.repeat(20_000)}`;
    writeFileSync(path, before);
    if (OWNER !== null) execFileSync('chown', ['-R', `${OWNER.uid}:${OWNER.gid}`, folder]);
    writeFileSync(join(folder, 'rest'), Buffer.alloc(freeOf(folder)));
    const file: ConfigFile = {
      path: 'server.properties',
      parser: 'properties',
      replacements: [{ match: 'motd', ifValue: null, value: 'new' }],
    };
    const apply = createApplyConfigFiles();
    const scope = {
      environment: {},
      uuid: UUID,
      allocation: { ip: '192.0.2.1', port: 25_565 },
      limits: { memory: 1, cpu: 1, disk: 1 },
    };
    const order = { folder, files: [file], scope, owner: OWNER };
    const problems = await apply(order);
    assert.deepEqual(
      problems.map(({ detail }) => detail),
      ['Left as it is: the disk is full.'],
    );
    assert.equal(readFileSync(path, 'utf8'), before);
    assert.deepEqual(readdirSync(folder).toSorted(), ['rest', 'server.properties']);
    rmSync(join(folder, 'rest'));
    assert.deepEqual(await apply(order), []);
    assert.match(readFileSync(path, 'utf8'), /^motd=new$/m);
  });
});
