import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { sql } from 'kysely';
import { skipUnless } from '../../requirements.ts';
import { eventually } from '../stack-fixture.ts';
import { startSftpWorld, type SftpWorld } from './sftp-world.ts';

const LARGE = Buffer.alloc(5 * 1024 * 1024 + 17, 'portcullis');
/** The name `a\xff`, and the spelling of it that the node shows. */
const ODD = Buffer.from([0x61, 0xff]);
const SPELLED = 'a\uefff';

/** A folder on the side of the client, with folders in it, and a file whose name is no ASCII. */
function makeFolder(home: string): void {
  mkdirSync(join(home, 'plugins/maps/deep'), { recursive: true });
  writeFileSync(join(home, 'plugins/large.jar'), LARGE);
  writeFileSync(join(home, 'plugins/empty'), '');
  writeFileSync(join(home, 'plugins/maps/Bärenhöhle über.yml'), 'name: x\n');
  for (let count = 0; count < 40; count += 1)
    writeFileSync(join(home, `plugins/maps/deep/${count}.dat`), `${count}`);
}

function assertSame(folder: string, other: string): void {
  execFileSync('diff', ['-rq', folder, other], { encoding: 'utf8' });
}

/** A file of the game whose name is not UTF-8. */
function putOdd({ folder }: SftpWorld): void {
  writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), ODD]), 'odd');
}

function names(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name !== '.portcullis')
    .toSorted();
}

describe('clients of SFTP', { skip: skipUnless(['sshd', 'sftp-clients']) }, () => {
  it('scp copies folders both ways, and says why it cannot by its old protocol', async (t) => {
    const world = await startSftpWorld(t);
    const { home, folder } = world;
    makeFolder(home);
    await scp(world, ['-r', 'plugins', 'HOST:']);
    assertSame(join(home, 'plugins'), join(folder, 'plugins'));
    await scp(world, ['-r', 'HOST:plugins', 'back']);
    assertSame(join(home, 'plugins'), join(home, 'back'));
    await assert.rejects(
      scp(world, ['-O', 'plugins/empty', 'HOST:']),
      /speaks SFTP only.*without -O/,
    );
  });

  it('sftp copies a folder, and lists, renames and deletes a name that is not UTF-8', async (t) => {
    const world = await startSftpWorld(t);
    const { home, folder, sftp } = world;
    makeFolder(home);
    await sftp('put -r plugins');
    assertSame(join(home, 'plugins'), join(folder, 'plugins'));
    await sftp('get -r plugins back');
    assertSame(join(home, 'plugins'), join(home, 'back'));
    putOdd(world);
    assert.match(await sftp('ls -1'), /^a/m);
    await sftp(`rename ${SPELLED} even`);
    assert.equal(readFileSync(join(folder, 'even'), 'utf8'), 'odd');
    putOdd(world);
    await sftp(`rm ${SPELLED}`);
    assert.deepEqual(names(folder), ['even', 'plugins']);
  });

  it('lftp mirrors a folder both ways, goes on with a file, renames and deletes', async (t) => {
    const world = await startSftpWorld(t);
    const { home, folder } = world;
    makeFolder(home);
    await lftp(world, 'mirror -R plugins plugins');
    assertSame(join(home, 'plugins'), join(folder, 'plugins'));
    await lftp(world, 'mirror plugins back');
    assertSame(join(home, 'plugins'), join(home, 'back'));
    writeFileSync(join(home, 'part'), LARGE.subarray(0, 1_000_000));
    await lftp(world, 'get -c plugins/large.jar -o part');
    assert.deepEqual(readFileSync(join(home, 'part')), LARGE);
    putOdd(world);
    await lftp(world, `mv plugins/empty full; chmod 600 full; mv ${SPELLED} even`);
    await lftp(world, 'rm even; rm -r plugins; mkdir -p a/b');
    assert.deepEqual(names(folder), ['a', 'full']);
  });

  it('rclone copies, compares and purges a folder', async (t) => {
    const world = await startSftpWorld(t);
    const { home, folder } = world;
    makeFolder(home);
    await rclone(world, 'copy', 'plugins', 'HOST:plugins');
    assertSame(join(home, 'plugins'), join(folder, 'plugins'));
    await rclone(world, 'check', '--download', 'plugins', 'HOST:plugins');
    await rclone(world, 'copy', 'HOST:plugins', 'back');
    assertSame(join(home, 'plugins'), join(home, 'back'));
    putOdd(world);
    assert.ok((await rclone(world, 'lsf', 'HOST:')).includes(SPELLED));
    await rclone(world, 'moveto', `HOST:${SPELLED}`, 'HOST:even');
    await rclone(world, 'deletefile', 'HOST:even');
    await rclone(world, 'purge', 'HOST:plugins');
    assert.deepEqual(names(folder), []);
  });

  it('paramiko writes at places of a file, reads ahead, renames and deletes', async (t) => {
    const world = await startSftpWorld(t);
    const { home, folder } = world;
    makeFolder(home);
    putOdd(world);
    writeFileSync(join(home, 'client.py'), PARAMIKO);
    const { port, user, password } = world;
    await world.run('/usr/bin/python3', ['client.py', String(port), user, password]);
    assert.deepEqual(names(folder), ['moved']);
    assert.deepEqual(readFileSync(join(home, 'back')), LARGE);
    assert.equal(readFileSync(join(folder, 'moved'), 'utf8'), '0123xx6789');
  });

  it('what they do is in the activity of the server, a folder of files as one line', async (t) => {
    const world = await startSftpWorld(t);
    makeFolder(world.home);
    await world.sftp('put -r plugins\nrm plugins/empty');
    await eventually('the lines arrive', async () => (await activity(world)).length >= 5);
    const lines = await activity(world);
    assert.ok(lines.includes('files.delete plugins/empty 1'), lines.join('\n'));
    assert.ok(lines.includes('files.write plugins/maps/deep/ 40'), lines.join('\n'));
  });
});

async function activity({ db }: SftpWorld): Promise<readonly string[]> {
  const { rows } = await sql<{ line: string }>`
    select concat_ws(' ', action, detail ->> 'path', detail ->> 'folder', times) as line
      from server_activity where door = 'sftp' and action <> 'sftp.connect' order by id`.execute(
    db,
  );
  return rows.map(({ line }) => line);
}

/** `HOST:` in an argument is the server. */
function scp(world: SftpWorld, args: readonly string[]): Promise<string> {
  const { home, port, user } = world;
  const options = ['StrictHostKeyChecking=no', `UserKnownHostsFile=${join(home, 'known')}`];
  const all = [...options.flatMap((one) => ['-o', one]), '-P', String(port)];
  const named = args.map((arg) => arg.replace('HOST:', `${user}@127.0.0.1:`));
  return world.run('scp', [...all, ...named]);
}

function lftp({ home, port, user, password, run }: SftpWorld, commands: string): Promise<string> {
  const connect = `ssh -a -x -o StrictHostKeyChecking=no -o UserKnownHostsFile=${join(home, 'known')}`;
  const settings = `set sftp:connect-program "${connect}"; set net:max-retries 2; set cmd:fail-exit true; set sftp:charset utf-8; set file:charset utf-8`;
  const open = `open -p ${port} -u "${user},${password}" sftp://127.0.0.1`;
  // It types the password itself.
  const unset = ['SSH_ASKPASS', 'SSH_ASKPASS_REQUIRE'].flatMap((name) => ['-u', name]);
  return run('env', [
    ...unset,
    'LC_ALL=C.UTF-8',
    'lftp',
    '-c',
    `${settings}; ${open}; ${commands}`,
  ]);
}

async function rclone(world: SftpWorld, ...args: readonly string[]): Promise<string> {
  const { port, user, password, run } = world;
  const obscured = (await run('rclone', ['obscure', password])).trim();
  const host = `:sftp,host=127.0.0.1,port=${port},user="${user}",pass=${obscured},shell_type=none,set_modtime=false:`;
  return run('rclone', [
    '--config',
    '',
    '--retries',
    '1',
    ...args.map((arg) => arg.replace('HOST:', host)),
  ]);
}

const PARAMIKO = `import sys, paramiko
port, user, password = int(sys.argv[1]), sys.argv[2], sys.argv[3]
transport = paramiko.Transport(('127.0.0.1', port))
transport.connect(username=user, password=password)
sftp = paramiko.SFTPClient.from_transport(transport)
sftp.put('plugins/large.jar', 'large.jar')
assert sftp.stat('large.jar').st_size == ${LARGE.length}
with sftp.open('large.jar', 'rb') as f:
    f.prefetch()
    data = f.read()
open('back', 'wb').write(data)
with sftp.open('new', 'w') as f:
    f.set_pipelined(True)
    f.write('0123456789')
with sftp.open('new', 'r+') as f:
    f.seek(4)
    f.write('xx')
sftp.chmod('new', 0o600)
sftp.rename('new', 'moved')
try:
    sftp.symlink('/etc/passwd', 'link')
    raise SystemExit('a link was made')
except IOError:
    pass
odd = [name for name in sftp.listdir('.') if name.startswith('a')]
assert odd == ['a\\uefff'], odd
sftp.remove(odd[0])
sftp.remove('large.jar')
sftp.mkdir('folder')
sftp.rmdir('folder')
transport.close()
`;
