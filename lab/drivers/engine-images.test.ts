import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { UNLIMITED } from '@portcullis/core/game-servers/power.ts';
import type { InstallSpec, InstanceSpec } from '@portcullis/node/engine/engine.ts';
import { startDockerFixture, type DockerFixture, PLAYER } from '../docker/docker-fixture.ts';
import { BUSYBOX, importBusybox } from '../docker/docker-image.ts';
import { type Registry, startRegistry } from '../docker/registry.ts';
import { skipUnless } from '../requirements.ts';
import { eventually } from '../system/stack-fixture.ts';

const COMMUNITY = 'lab/community:1';
/** The entrypoint of community images: the image's own shell substitutes variables. */
const ENTRYPOINT = `cd /home/container
MODIFIED=$(echo "$STARTUP" | sed -e 's/{{/\${/g' -e 's/}}/}/g')
eval "exec sh -c '$MODIFIED'"`;
const NEVER = new AbortController().signal;

describe('images in Docker', { skip: skipUnless(['docker', 'nft']) }, () => {
  let fixture: DockerFixture;
  let registry: Registry;
  before(async () => {
    fixture = await startDockerFixture('images');
    registry = await startRegistry(fixture.dockerd.namespace);
    await importBusybox(
      fixture.dockerd,
      COMMUNITY,
      ['ENV FROM=image', 'WORKDIR /home', 'ENTRYPOINT ["/bin/sh", "/entrypoint.sh"]', 'USER 1234'],
      [{ path: 'entrypoint.sh', mode: 0o755, content: Buffer.from(ENTRYPOINT) }],
    );
  });
  after(async () => {
    registry?.stop();
    await fixture?.stop();
  });
  afterEach(async () => {
    for (const { uuid } of await fixture.engine.list()) await fixture.engine.remove(uuid);
  });

  it('of the community run unchanged: their entrypoint, STARTUP, the folder', async () => {
    const output = await run({
      image: { reference: COMMUNITY, local: true },
      command: null,
      fallbackCommand: ['false'],
      env: { STARTUP: 'echo {{NAME}} $FROM $(id -u) $PWD', NAME: 'Ada' },
    });
    assert.equal(output, `Ada image ${PLAYER.uid} /home/container\r\n`);
  });

  it('that start nothing by themselves start what the egg says, split and unread by any shell', async () => {
    const hostile = 'a b; $(touch x) `touch x`';
    const output = await run({ command: null, fallbackCommand: ['echo', hostile] });
    assert.equal(output, `${hostile}\r\n`);
    const spec = fixture.spec(randomUUID(), '', { command: null });
    await assert.rejects(fixture.engine.create(spec), {
      code: 'refused',
      message: /defines no command to start/,
    });
  });

  it('are pulled with progress, local ones never, and a pull that is called off ends', async () => {
    const image = { reference: registry.reference, local: false };
    const calling = new AbortController();
    registry.stall(true);
    const pull = fixture.engine.pull(image, () => calling.abort(), calling.signal);
    await assert.rejects(pull, { code: 'aborted' });
    registry.stall(false);
    await assert.rejects(
      fixture.engine.pull({ ...image, local: true }, () => {}, NEVER),
      {
        code: 'missing_image',
        message: /never pulls/,
      },
    );
    const lines: string[] = [];
    await fixture.engine.pull(image, (line) => lines.push(line), NEVER);
    assert.ok(
      lines.some((line) => /Pull complete/.test(line)),
      lines.join('\n'),
    );
    const missing = { reference: registry.missing, local: false };
    await assert.rejects(
      fixture.engine.pull(missing, () => {}, NEVER),
      {
        code: 'missing_image',
        message: /missing:1 is missing/,
      },
    );
  });

  it('are refreshed by tag, with a login where the registry asks for one, and used as they are without it', async () => {
    const { engine, stateDir } = fixture;
    const image = { reference: registry.reference, local: false };
    const pull = () => engine.pull(image, () => {}, NEVER);
    await pull();
    assert.equal(await pull(), null, 'nothing is new');
    registry.replaceImage();
    assert.match((await pull()) ?? '', /A newer image 127\.0\.0\.1:\d+\/game:1 was fetched/);
    registry.requireLogin('steve:s3cret');
    assert.match((await pull()) ?? '', /could not be refreshed .*this node's copy of it is used/);
    await engine.pull({ ...image, local: true }, () => assert.fail('it is local'), NEVER);
    const auth = Buffer.from('steve:s3cret').toString('base64');
    const auths = { [image.reference.split('/')[0] ?? '']: { auth } };
    writeFileSync(join(stateDir, 'config.json'), JSON.stringify({ auths }));
    registry.replaceImage();
    assert.equal(await pull(), null, 'allowed, and the same as before');
    registry.requireLogin(null);
  });

  it('know the account and the machine of their server, and keep their own init', async () => {
    const uuid = randomUUID();
    const script = 'whoami; id -gn; cat /etc/machine-id; cat /proc/1/comm';
    const output = await run({ command: ['sh', '-c', script] }, uuid);
    const own = `container\r\ncontainer\r\n${uuid.replaceAll('-', '')}\r\n`;
    assert.equal(output, `${own}docker-init\r\n`);
    const init = { path: 'init', mode: 0o755, content: Buffer.from('#!/bin/sh\nexec "$@"\n') };
    const reference = 'lab/own-init:1';
    await importBusybox(fixture.dockerd, reference, [], [init]);
    const more = { image: { reference, local: true }, command: ['/init', 'cat', '/proc/1/comm'] };
    assert.equal(await run(more), 'cat\r\n');
  });

  it('give nothing to a server whose folder is a link, a file, gone, or root’s', async () => {
    const spec = fixture.spec(randomUUID(), 'true');
    const link = `${spec.folder}-link`;
    symlinkSync('/etc', link);
    const rootly = `${spec.folder}-root`;
    mkdirSync(rootly);
    for (const folder of [link, rootly, `${spec.folder}-none`, '/etc/passwd'])
      await assert.rejects(fixture.engine.create({ ...spec, folder }), { code: 'refused' }, folder);
  });

  it('get exactly the bytes that were written to their console', async () => {
    const spec = fixture.spec(randomUUID(), 'stty raw -echo; echo ready; head -c 6 | od -An -tx1');
    await fixture.engine.create(spec);
    let heard = '';
    const console = await fixture.engine.attach(spec.uuid, (chunk) => (heard += chunk.toString()));
    await fixture.engine.start(spec.uuid);
    await eventually('it is ready', async () => heard.includes('ready'));
    await console.write(Buffer.from('ab\né\n'));
    await eventually('it read them', async () => heard.includes('61 62 0a c3 a9 0a'));
  });

  it('have a terminal of 200 by 50 at every start', async () => {
    const spec = fixture.spec(
      randomUUID(),
      'until [ "$(stty size)" = "50 200" ]; do :; done; stty size',
    );
    for (const start of ['first', 'second']) {
      await fixture.engine.create(spec);
      let heard = '';
      await fixture.engine.attach(spec.uuid, (chunk) => (heard += chunk.toString()));
      await fixture.engine.start(spec.uuid);
      await eventually(`the ${start} start`, async () => heard.includes('50 200'));
      await fixture.engine.remove(spec.uuid);
    }
  });

  it('get lines as long as their terminal takes them, whole, and of longer ones nothing', async () => {
    const spec = fixture.spec(
      randomUUID(),
      'stty -echo; echo ready; while read -r a; do echo ${#a}; done',
    );
    await fixture.engine.create(spec);
    let heard = '';
    const console = await fixture.engine.attach(spec.uuid, (chunk) => (heard += chunk.toString()));
    await fixture.engine.start(spec.uuid);
    await eventually('it is ready', async () => heard.includes('ready'));
    await assert.rejects(console.write(Buffer.from(`${'x'.repeat(4096)}\n`)), {
      code: 'refused',
      message: /at most 4095 bytes, and this one has 4096 as UTF-8\. It was not sent/,
    });
    await console.write(Buffer.from(`${'x'.repeat(4095)}\n`));
    await eventually('it read all of it', async () => heard.includes('4095'));
    await console.write(Buffer.from('abc\n'));
    await eventually('and the next', async () => /4095\s+3\s/.test(heard));
    assert.doesNotMatch(heard, /4096/);
  });

  it('install: their exit code counts, what they print is heard, what they leave is the server’s', async () => {
    const spec = install(
      'echo out; echo err >&2\r\nid -u > who; mkdir -p a/b; ln -s /etc/passwd a/link\nexit 3',
    );
    let heard = '';
    const done = await fixture.engine.runInstall(
      spec,
      (chunk) => (heard += chunk.toString()),
      NEVER,
    );
    assert.deepEqual(done, { exitCode: 3 });
    assert.deepEqual(heard.split('\n').toSorted(), ['', 'err', 'out']);
    assert.equal(readFileSync(join(spec.folder, 'who'), 'utf8'), '0\n', 'root of its container');
    for (const name of readdirSync(spec.folder, { recursive: true, encoding: 'utf8' })) {
      const { uid, gid } = lstatSync(join(spec.folder, name));
      assert.deepEqual({ uid, gid }, PLAYER, name);
    }
    assert.equal(lstatSync('/etc/passwd').uid, 0);
  });

  it('install with few rights: no device, no mount, no log of the kernel', async () => {
    const spec = install(
      'mknod x b 8 0; mount -t proc none /tmp; dmesg -c | head -c 1; grep CapBnd /proc/self/status',
    );
    let heard = '';
    await fixture.engine.runInstall(spec, (chunk) => (heard += chunk.toString()), NEVER);
    assert.match(heard, /mknod: .*not permitted[^]*mount: permission denied/);
    // CHOWN, DAC_OVERRIDE, FOWNER, SETGID, SETUID.
    assert.match(heard, /CapBnd:\s+00000000000000cb/);
  });

  it('install until called off, and after an agent that did not see the end of one', async () => {
    const calling = new AbortController();
    const spec = install('touch begun; echo begun; sleep 1000');
    const called = fixture.engine.runInstall(spec, () => calling.abort(), calling.signal);
    await assert.rejects(called, { code: 'aborted' });
    const containers = await fixture.dockerd.call('GET', '/containers/json?all=1');
    assert.equal(containers, '[]\n');
    assert.equal(lstatSync(join(spec.folder, 'begun')).uid, PLAYER.uid);

    const other = fixture.open();
    const left = other.runInstall(spec, () => {}, NEVER);
    left.catch(() => undefined);
    await eventually('the other began', async () => {
      return (await fixture.dockerd.call('GET', '/containers/json')) !== '[]\n';
    });
    const again = { ...spec, script: 'test -f begun' };
    assert.deepEqual(await fixture.engine.runInstall(again, () => {}, NEVER), { exitCode: 0 });
    await other.close();
  });

  it('have failed an install that fills the layer of its container instead of the folder', async () => {
    const write = 'dd if=/dev/zero of=/filler$n bs=1M count=8 2>/dev/null';
    const spec = install(`for n in 1 2 3 4 5 6 7 8 9 10; do ${write}; done; sleep 1000`);
    await assert.rejects(
      fixture.engine.runInstall(spec, () => {}, NEVER),
      { code: 'refused', message: /wrote \d+ MiB outside .* more than the disk limit of 64 MiB/ },
    );
    assert.equal(await fixture.dockerd.call('GET', '/containers/json?all=1'), '[]\n');
  });

  it('have failed an install that is far above its limit only with both the layer and the folder', async () => {
    const write = 'dd if=/dev/zero of=/filler$n bs=1M count=8 2>/dev/null';
    const spec = {
      ...install(`for n in 1 2 3 4 5; do ${write}; done; sleep 1000`),
      folderBytes: () => 120 * 1024 * 1024,
    };
    await assert.rejects(
      fixture.engine.runInstall(spec, () => {}, NEVER),
      { code: 'refused', message: /wrote \d+ MiB outside .* and 120 MiB in it, more than/ },
    );
  });

  /** Output of a server until it exits. */
  async function run(more: Partial<InstanceSpec>, uuid = randomUUID()): Promise<string> {
    const spec = fixture.spec(uuid, '', more);
    const { engine } = fixture;
    await engine.create(spec);
    await engine.start(spec.uuid);
    await eventually(
      'it ended',
      async () => (await engine.inspect(spec.uuid))?.status === 'exited',
    );
    return (await engine.recentOutput(spec.uuid, 10_000)).toString();
  }

  function install(script: string): InstallSpec {
    const uuid = randomUUID();
    const folder = fixture.folder(uuid);
    chownSync(folder, PLAYER.uid, PLAYER.gid);
    return {
      uuid,
      organisation: 'acme',
      image: { reference: BUSYBOX, local: true },
      entrypoint: 'sh',
      script: `cd /mnt/server\n${script}\n`,
      env: {},
      folder,
      limits: { ...UNLIMITED, memory: 64, cpu: 100, disk: 64 },
    };
  }
});
