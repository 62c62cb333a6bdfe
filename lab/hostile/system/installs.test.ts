import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import { GAME } from '@portcullis/node/engine/suite.ts';
import { EGG, uuidOf } from '@portcullis/node/testing/eggs.ts';
import { type DockerFixture, startDockerFixture } from '../../docker/docker-fixture.ts';
import { BUSYBOX, importBusybox } from '../../docker/docker-image.ts';
import { GameNode, type HostedServer } from '../../docker/game-node.ts';
import { inotifyProgram } from '../../docker/inotify-program.ts';
import { idOf } from '../../docker/server-shell.ts';
import { skipUnless } from '../../requirements.ts';

const IMAGE = 'lab/game:1';
const WATCHERS = 'lab/watchers:1';
/** An account of the host that has nothing to do with the node. */
const LOCAL_UID = 12_345;
const SHELL_EGG: Egg = {
  ...EGG,
  images: [{ label: 'game', reference: IMAGE, local: true }],
  startup: null,
  stop: { kind: 'command', command: 'exit 0' },
  protocols: [],
};
/** A program that is its caller's effective account, root's if the bit has an effect. */
const PLANT = `cd /mnt/server; cp /bin/busybox rootsh; chmod 4755 rootsh; chmod 777 .`;
/** The reproduction's: seven trees of 45 nested folders, whose paths the kernel does not take, beside twelve programs. */
const DEEP = `${PLANT}
for n in 1 2 3 4 5 6 7 8 9 10 11; do cp rootsh rootsh$n; chmod 6755 rootsh$n; done
name=$(printf 'd%.0s' $(seq 92))
for tree in 1 2 3 4 5 6 7; do
  mkdir tree$tree; cd tree$tree
  for level in $(seq 45); do mkdir $name; cd -P $name; done
  cp /bin/busybox rootsh; chmod 4755 rootsh
  cd /mnt/server
done`;

function installed(script: string, egg: Egg = SHELL_EGG): HostedServer {
  const image = { label: 'installer', reference: BUSYBOX, local: true };
  return { egg: { ...egg, install: { image, entrypoint: 'sh', script } } };
}

function asLocal(...command: readonly string[]): {
  readonly status: number | null;
  readonly out: string;
} {
  const account = ['--reuid', String(LOCAL_UID), '--regid', String(LOCAL_UID), '--clear-groups'];
  const { status, stdout } = spawnSync('setpriv', [...account, ...command], { encoding: 'utf8' });
  return { status, out: stdout };
}

/** Everything below a node's state that a local account could ask for. */
function reachable(paths: readonly string[]): string[] {
  return paths.filter((path) => asLocal('stat', path).status === 0);
}

const setIdBelow = (folder: string): string =>
  execFileSync('find', [folder, '-perm', '/6000', '-print'], { encoding: 'utf8' });

const ownersBelow = (folder: string): string[] => {
  const text = execFileSync('find', [folder, '-printf', '%U:%G\n'], { encoding: 'utf8' });
  return [...new Set(text.trim().split('\n'))];
};

describe('installs and games on a host with other accounts', {
  skip: skipUnless(['docker', 'nft', 'clang']),
}, () => {
  let fixture: DockerFixture;
  let node: GameNode | null = null;
  before(async () => {
    fixture = await startDockerFixture('hostile');
    const { dockerd } = fixture;
    await importBusybox(dockerd, IMAGE, [`CMD ${JSON.stringify(['sh', '-c', GAME])}`]);
    const program = inotifyProgram('bin/watchers');
    await importBusybox(dockerd, WATCHERS, ['CMD ["/bin/watchers"]'], [program]);
  });
  after(() => fixture.stop());
  afterEach(async () => {
    await node?.stop();
    node = null;
  });

  const begin = async (...servers: readonly HostedServer[]): Promise<GameNode> => {
    node = await GameNode.start(fixture, servers);
    return node;
  };
  const folderOf = ({ stateDir }: GameNode, number = 1): string =>
    join(stateDir, 'servers', uuidOf(number));

  it('no local account reaches anything of a server, nor becomes root by it, during an install and after', async () => {
    const wait = 'until [ -e go ]; do sleep 0.05; done; rm go';
    const host = await begin(installed(`${PLANT}; ${wait}`));
    const folder = folderOf(host);
    const program = join(folder, 'rootsh');
    await host.eventually('the install wrote', async () => existsSync(program));
    const paths = [join(host.stateDir, 'servers'), folder, program];
    await host.eventually('it is open', async () => (lstatSync(folder).mode & 0o777) === 0o777);
    assert.equal(lstatSync(program).mode & 0o7777, 0o4755, 'the install is root in its container');
    assert.deepEqual(reachable(paths), []);
    assert.equal(asLocal(program, 'id', '-u').out, '');
    writeFileSync(join(folder, 'go'), '');
    assert.equal((await host.built()).state, 'built');
    assert.deepEqual(reachable(paths), []);
    assert.equal(setIdBelow(folder), '');
    await host.run();
    assert.deepEqual(reachable(paths), []);
  });

  it('an install leaves no set-user-id program, where paths are longer than the kernel takes', async () => {
    const host = await begin(installed(DEEP));
    const { state, reason } = await host.built();
    assert.equal(state, 'built', reason ?? '');
    const folder = folderOf(host);
    assert.equal(setIdBelow(folder), '');
    const { uid } = lstatSync(folder);
    assert.ok(uid >= 200_000, `${uid}`);
    assert.deepEqual(ownersBelow(folder), [`${uid}:${uid}`]);
    await host.run();
  });

  it('what cannot be given to the server is set aside where nobody may enter, and nothing starts with it', async () => {
    const endless = `${PLANT}; for n in $(seq 600); do mkdir d; cd -P d; done`;
    const host = await begin(installed(endless));
    const { state, reason } = await host.built();
    assert.equal(state, 'failed');
    const [, place = ''] =
      /more than 512 deep\. Its folder was moved to (\S+),/.exec(reason ?? '') ?? [];
    assert.notEqual(place, '', reason ?? '');
    assert.equal(existsSync(folderOf(host)), false);
    assert.deepEqual(reachable([place, join(place, 'rootsh')]), []);
    const refused = await host.power('start');
    assert.match(refused?.kind === 'refused' ? refused.reason : '', /not built/);
    host.assign([{ ...installed('true'), changes: { buildEpoch: 2 } }]);
    assert.equal((await host.built(1, 2)).state, 'built');
    await host.power('start');
    await host.becomes('running');
    assert.ok(existsSync(place), 'until the operator purges it');
    // Plain tools stop at the kernel's limit of paths.
    execFileSync('rm', ['-rf', place]);
  });

  it('an install that was killed with its agent in the middle leaves nothing to run', async () => {
    const host = await begin(
      installed(`${PLANT}; chown 200001:200001 .; touch planted; sleep 1000`),
    );
    const folder = folderOf(host);
    await host.eventually('it planted', async () => existsSync(join(folder, 'planted')));
    await host.killAgent();
    assert.deepEqual(reachable([folder, join(folder, 'rootsh')]), []);
    host.assign([{ ...installed('true'), changes: { buildEpoch: 2 } }]);
    await host.beginAgent();
    assert.equal((await host.built(1, 2)).state, 'built');
    await host.power('start');
    await host.becomes('running');
    assert.equal(setIdBelow(folder), '');
    assert.equal(ownersBelow(folder).length, 1);
  });

  it('games of two organisations share no limit that the kernel counts by account', async () => {
    const limit = Number(readFileSync('/proc/sys/fs/inotify/max_user_instances', 'utf8'));
    assert.ok(limit < 1_000, `${limit} instances`);
    const egg: Egg = {
      ...SHELL_EGG,
      images: [{ label: 'game', reference: WATCHERS, local: true }],
    };
    const host = await begin({ egg }, { egg, changes: { organisation: 'other' } });
    await host.run(1);
    const took = `ready took ${String(limit).padStart(4, '0')}`;
    await host.says(took, 1);
    await host.run(2);
    await host.says(took, 2);
    const uids = [1, 2].map((number) => lstatSync(folderOf(host, number)).uid);
    assert.notEqual(uids[0], uids[1]);
  });

  it('set-user-id programs and devices have no effect for installs and games either, where the host may mount', async () => {
    const says = 'grep -E " /(mnt/server|home/container) " /proc/mounts';
    const shown = { launch: 'startup', startup: `sh -c '${says}; echo ready; read x'` } as const;
    const host = await begin();
    const module = join(import.meta.dirname, '../../../agent/protected-mount.ts');
    const servers = join(host.stateDir, 'servers');
    const code = `(await import(${JSON.stringify(module)})).protectFolder(${JSON.stringify(servers)})`;
    // As \`portcullis node mount\` does it, in the view of mounts that this Docker has.
    const { pid } = fixture.dockerd;
    const inside = [
      '--target',
      String(pid),
      '--mount',
      '--pid',
      process.execPath,
      '--input-type=module',
    ];
    execFileSync('nsenter', [...inside, '-e', code]);
    host.assign([installed(says, { ...SHELL_EGG, ...shown })]);
    assert.match((await host.built()).log ?? '', / \/mnt\/server \S+ rw,nosuid,nodev,/);
    await host.run();
    await host.says(/ \/home\/container \S+ rw,nosuid,nodev,/);
  });

  it('a server of the account that all shared runs on, and moves to its own at its next start', async () => {
    node = await GameNode.start(fixture, [{ egg: SHELL_EGG }], {
      accounts: { first: 25_565, last: 25_565 },
    });
    const host = node;
    const folder = folderOf(host);
    await host.run();
    const id = await idOf(fixture, uuidOf(1));
    writeFileSync(join(folder, 'world'), 'castle');
    execFileSync('chown', ['25565:25565', join(folder, 'world')]);
    await host.killAgent();
    // The rest of what earlier versions made.
    rmSync(join(host.stateDir, 'journal', 'accounts'), { recursive: true });
    execFileSync('chmod', ['711', host.stateDir]);
    execFileSync('chmod', ['755', join(host.stateDir, 'servers'), folder]);
    assert.deepEqual(reachable([join(folder, 'world')]), [join(folder, 'world')]);

    host.use({});
    await host.beginAgent();
    await host.becomes('running');
    assert.deepEqual(
      reachable([join(host.stateDir, 'servers'), folder, join(folder, 'world')]),
      [],
    );
    assert.equal(await idOf(fixture, uuidOf(1)), id);
    assert.equal(lstatSync(join(folder, 'world')).uid, 25_565);
    assert.deepEqual(await host.command('say still here'), { kind: 'accepted' });
    await host.says('said still here');

    await host.power('restart');
    await host.replaces(id);
    await host.becomes('running');
    await host.says(/belonged to uid 25565 and now belong to an account of its own, uid \d+/);
    const { uid } = lstatSync(folder);
    assert.ok(uid >= 200_000);
    assert.deepEqual(ownersBelow(folder), [`${uid}:${uid}`]);
    assert.equal(readFileSync(join(folder, 'world'), 'utf8'), 'castle');
    assert.match(host.log, /given to its own account/);
  });
});

describe('installs where Docker has a user namespace', {
  skip: skipUnless(['docker', 'nft']),
}, () => {
  let fixture: DockerFixture;
  before(async () => {
    fixture = await startDockerFixture('userns', { remapFrom: 900_000 });
    await importBusybox(fixture.dockerd, IMAGE, [`CMD ${JSON.stringify(['sh', '-c', GAME])}`]);
  });
  after(() => fixture.stop());

  it('are not root of the host, and what they leave is the server’s', async (t) => {
    const script = `${PLANT}; echo "map $(cat /proc/self/uid_map)"; mkdir a; chown 7:7 a; id -u
until [ -e go ]; do sleep 0.05; done`;
    const writes: Egg = {
      ...SHELL_EGG,
      launch: 'startup',
      startup: `sh -c 'id -u; echo saved >save; rm rootsh && echo removed; echo ready; read x'`,
    };
    const host = await GameNode.start(fixture, [installed(script, writes)]);
    t.after(() => host.stop());
    const folder = join(host.stateDir, 'servers', uuidOf(1));
    const program = join(folder, 'rootsh');
    await host.eventually('the install wrote', async () => existsSync(join(folder, 'a')));
    await host.eventually('and chowned', async () => lstatSync(join(folder, 'a')).uid === 900_007);
    assert.equal(lstatSync(program).uid, 900_000, 'root of its namespace');
    assert.deepEqual(reachable([folder, program]), []);
    writeFileSync(join(folder, 'go'), '');
    const { state, log, reason } = await host.built();
    assert.equal(state, 'built', `${reason}\n${log}`);
    assert.match(log ?? '', /map +0 +900000 +65536/);
    const { uid } = lstatSync(folder);
    assert.ok(uid >= 200_000 && uid !== 900_000);
    assert.deepEqual(ownersBelow(folder), [`${uid}:${uid}`]);
    assert.equal(setIdBelow(folder), '');
    await host.run();
    await host.says(String(uid));
    await host.says('removed');
    assert.equal(lstatSync(join(folder, 'save')).uid, uid);
  });
});
