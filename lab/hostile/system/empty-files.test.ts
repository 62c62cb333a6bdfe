import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { UNLIMITED } from '@portcullis/core/game-servers/power.ts';
import { DiskGuard, type GuardedServer } from '@portcullis/node/disk/disk-guard.ts';
import { freeSpace } from '@portcullis/node/disk/free-space.ts';
import { createMeasureDisk } from '@portcullis/node/disk/measure.ts';
import { type DockerFixture, startDockerFixture } from '../../docker/docker-fixture.ts';
import { skipUnless } from '../../requirements.ts';
import { eventually } from '../../system/stack-fixture.ts';

const LIMITS = { ...UNLIMITED, memory: 64, cpu: 100, disk: 8 };

describe('a server in Docker that makes empty files without end', {
  skip: skipUnless(['docker', 'nft']),
}, () => {
  let fixture: DockerFixture;
  before(async () => {
    fixture = await startDockerFixture('empty-files');
  });
  after(() => fixture.stop());

  it('is ended, and delays no start of another server', async () => {
    const [attacker, other] = [randomUUID(), randomUUID()];
    const script = 'i=0; while :; do i=$((i + 1)); : > file-$i; done';
    const spec = fixture.spec(attacker, script, { limits: LIMITS });
    // Half of what it may have before it is ended at once, so that a round takes its time.
    for (let file = 0; file < 10_000; file++)
      closeSync(openSync(join(spec.folder, `${file}`), 'w'));
    await fixture.engine.create(spec);
    await fixture.engine.start(attacker);
    const guarded = (uuid: string): GuardedServer => {
      const folder = fixture.folder(uuid);
      return { uuid, folder, limitMib: LIMITS.disk, writes: 'game' };
    };
    const measured: string[] = [];
    const acts: string[] = [];
    const guard = new DiskGuard({
      measure: createMeasureDisk(),
      servers: () => (acts.length > 0 ? [] : [guarded(attacker)]),
      onMeasured: (uuid) => measured.push(uuid),
      act: (uuid, action, reason) => {
        acts.push(`${action}: ${reason}`);
        void fixture.engine.kill(uuid).catch(() => undefined);
      },
      onError: (_, error) => assert.fail(String(error)),
      // The next round comes early, because the disk loses inodes.
      pauseMs: 600_000,
      freeBytes: () => freeSpace(spec.folder),
    });
    guard.start();
    try {
      assert.equal(await guard.measure(guarded(other)), null);
      assert.deepEqual(measured, [other]);
      await fixture.engine.create(fixture.spec(other, 'sleep 600'));
      await fixture.engine.start(other);
      await eventually('it is ended', async () => {
        return (await fixture.engine.inspect(attacker))?.status === 'exited';
      });
      assert.match(acts[0] ?? '', /^(stop|kill): .*files and folders/);
      assert.equal((await fixture.engine.inspect(other))?.status, 'running');
    } finally {
      await guard.stop();
      for (const uuid of [attacker, other]) await fixture.engine.remove(uuid);
    }
  });
});
