import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import { GAME } from '@portcullis/node/engine/suite.ts';
import { EGG, uuidOf } from '@portcullis/node/testing/eggs.ts';
import { startDockerFixture, type DockerFixture } from '../../docker/docker-fixture.ts';
import { importBusybox } from '../../docker/docker-image.ts';
import { GameNode } from '../../docker/game-node.ts';
import { skipUnless } from '../../requirements.ts';
import { idOf } from '../../docker/server-shell.ts';
import { eventually } from '../stack-fixture.ts';

const IMAGE = 'lab/game:1';
/** Its console ends it: an agent that forgot the egg would send TERM, and the game would say `saving`. */
const GAME_EGG: Egg = {
  ...EGG,
  images: [{ label: 'game', reference: IMAGE, local: true }],
  startup: null,
  stop: { kind: 'command', command: 'exit 0' },
  protocols: [],
};
const UUID = uuidOf(1);
const CLOSED = { closedNetworks: ['9.9.9.0/24', '2a01:77::/48'] };
const ACCEPTED = { kind: 'accepted' };

describe('a node over Docker, when something fails', {
  skip: skipUnless(['docker', 'nft']),
}, () => {
  let fixture: DockerFixture;
  let host: GameNode;
  before(async () => {
    fixture = await startDockerFixture('nodes');
    const changes = [`CMD ${JSON.stringify(['sh', '-c', GAME])}`];
    await importBusybox(fixture.dockerd, IMAGE, changes);
  });
  after(() => fixture.stop());
  beforeEach(async () => {
    host = await GameNode.start(fixture, [{ egg: GAME_EGG }], CLOSED);
  });
  afterEach(() => host.stop());

  it('leaves servers running when its agent is killed, and the next one stops them as their egg says', async () => {
    await host.run();
    const id = await idOf(fixture, UUID);
    const pids = fixture.dockerd.processesOf(id);
    await host.killAgent();
    assert.deepEqual(fixture.dockerd.processesOf(id), pids);
    await host.beginAgent();
    await host.becomes('running');
    assert.equal(await idOf(fixture, UUID), id);
    await eventually('it knows what was said before', async () => {
      return (await host.lines()).some((line) => line.startsWith('ready'));
    });
    assert.deepEqual(await host.command('say still here'), ACCEPTED);
    await host.says('said still here');
    assert.deepEqual(await host.power('stop'), ACCEPTED);
    await host.becomes('offline');
    assert.ok(!(await host.lines()).includes('saving'));
  });

  it('closes the networks to servers that it was instructed to', async () => {
    await host.run();
    const rules = fixture.dockerd.namespace.run('nft', 'list', 'ruleset');
    assert.match(rules, /set closed4 {[^}]*elements = { [^}]*9\.9\.9\.0\/24/);
    assert.match(rules, /set closed6 {[^}]*elements = { [^}]*2a01:77::\/48/);
  });

  it('goes on with a restart in the middle of which its agent was killed', async () => {
    await host.run();
    for (let round = 0; round < 3; round += 1) {
      const id = await idOf(fixture, UUID);
      assert.deepEqual(await host.power('restart'), ACCEPTED);
      await host.killAgent();
      await host.beginAgent();
      await host.replaces(id);
      await host.becomes('running');
    }
  });

  for (const how of ['SIGTERM', 'SIGKILL'] as const)
    it(`finds its servers again after a restart of Docker with live restore (${how})`, async () => {
      const { dockerd } = fixture;
      await dockerd.end('SIGTERM');
      await dockerd.launch({ liveRestore: true });
      await host.run();
      const id = await idOf(fixture, UUID);
      await dockerd.end(how);
      await host.becomes(null);
      const refused = await host.power('stop');
      assert.match(refused?.kind === 'refused' ? refused.reason : '', /does not answer/);
      await dockerd.launch({ liveRestore: true });
      await host.becomes('running');
      assert.equal(await idOf(fixture, UUID), id);
      await eventually('its console takes commands', async () => {
        return (await host.command('say back'))?.kind === 'accepted';
      });
      await host.says('said back');
    });

  it('starts again what restarts of Docker without live restore ended, however often', async () => {
    const { dockerd } = fixture;
    await dockerd.end('SIGTERM');
    await dockerd.launch({ liveRestore: false });
    await host.run();
    // Within the minute of two crashes: none of them is one of the server.
    for (const how of ['SIGTERM', 'SIGTERM', 'SIGKILL'] as const) {
      const id = await idOf(fixture, UUID);
      await dockerd.end(how);
      await dockerd.launch({ liveRestore: false });
      await host.replaces(id);
      await host.becomes('running');
    }
    const lines = (await host.lines()).join('\n');
    assert.match(lines, /It was started again/);
    assert.doesNotMatch(lines, /crashed twice/);
    // It has its one crash yet.
    const id = await idOf(fixture, UUID);
    await dockerd.call('POST', `/containers/${id}/kill`);
    await host.replaces(id);
    await host.becomes('running');
  });

  it('starts a server again whose start after a crash a restart of Docker cut off, wherever it was', async () => {
    const { dockerd } = fixture;
    await dockerd.end('SIGTERM');
    await dockerd.launch({ liveRestore: false });
    await host.run();
    // Before it is made, while it is made or starts, and once it runs.
    for (const afterMs of [0, 200, 800]) {
      const id = await idOf(fixture, UUID);
      await dockerd.call('POST', `/containers/${id}/kill`);
      await delay(afterMs);
      await dockerd.end('SIGTERM');
      await dockerd.launch({ liveRestore: false });
      await host.replaces(id);
      await host.becomes('running');
    }
  });

  it('recognises `docker pause`, `stop` and `rm -f`', async () => {
    const { dockerd } = fixture;
    await host.run();
    const container = `/containers/${await idOf(fixture, UUID)}`;
    await eventually('it is measured', async () => (await host.resources()) !== null);
    assert.equal((await host.resources())?.memoryLimitBytes, 512 * 1024 * 1024);
    await dockerd.call('POST', `${container}/pause`);
    await host.says('[portcullis] The server is paused.');
    assert.equal(await host.state(), 'paused');
    // Through some of Docker's measurements.
    for (let looks = 0; looks < 10; looks += 1) {
      assert.ok(((await host.resources())?.memoryBytes ?? 0) > 0);
      await delay(300);
    }
    await dockerd.call('POST', `${container}/unpause`);
    await dockerd.call('POST', `${container}/stop?t=10`);
    await host.says('[portcullis] It ended by itself with exit code 0. It was started again.');
    await host.becomes('running');
    await dockerd.call('DELETE', `/containers/${await idOf(fixture, UUID)}?force=1`);
    await host.becomes('offline');
    assert.match((await host.lines()).join('\n'), /crashed twice/);
    assert.deepEqual(await host.power('start'), ACCEPTED);
    await host.becomes('running');
  });

  it('knows nothing and takes nothing but a kill while Docker hangs, in its time, and kills once it does not', async () => {
    await host.run();
    fixture.dockerd.hang();
    try {
      await host.becomes(null);
      const killed = host.power('kill');
      const answers = await Promise.all([
        host.call({ kind: 'look' }),
        host.power('stop'),
        host.command('say anybody'),
      ]);
      for (const answer of answers)
        assert.match(answer?.kind === 'refused' ? answer.reason : '', /does not answer/);
      assert.deepEqual(await killed, ACCEPTED);
    } finally {
      fixture.dockerd.resume();
    }
    await host.becomes('offline');
  });
});
