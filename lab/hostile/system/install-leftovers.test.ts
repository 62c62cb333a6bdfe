import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { UNLIMITED } from '@portcullis/core/game-servers/power.ts';
import { type DockerFixture, PLAYER, startDockerFixture } from '../../docker/docker-fixture.ts';
import { BUSYBOX } from '../../docker/docker-image.ts';
import { skipUnless } from '../../requirements.ts';

/** Programs that would be root's for whoever runs them, at the top and deep inside, and names that are no path. */
const SCRIPT = `cd /mnt/server
for folder in . a/b/c "two words" -dash; do
  mkdir -p -- "./$folder"
  cp /bin/busybox "./$folder/setuid"; chmod 4755 "./$folder/setuid"
  cp /bin/busybox "./$folder/both"; chmod 6777 "./$folder/both"
done
ln -s setuid link; ln a/b/c/setuid hard
`;

describe('an install that ends well', { skip: skipUnless(['docker', 'nft']) }, () => {
  let fixture: DockerFixture;
  before(async () => {
    fixture = await startDockerFixture('leftovers');
  });
  after(() => fixture.stop());

  it('leaves no file of root’s and no set-user-id program of anybody’s', async () => {
    const uuid = randomUUID();
    const folder = fixture.folder(uuid);
    const spec = {
      uuid,
      organisation: 'acme',
      image: { reference: BUSYBOX, local: true },
      entrypoint: 'sh',
      script: SCRIPT,
      env: {},
      folder,
      limits: { ...UNLIMITED, memory: 64, cpu: 100, disk: 64 },
    };
    const { signal } = new AbortController();
    let said = '';
    const hear = (chunk: Buffer): void => void (said += chunk.toString());
    const done = await fixture.engine.runInstall(spec, hear, signal);
    assert.deepEqual(done, { exitCode: 0 }, said);
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    assert.equal(names.filter((name) => name.endsWith('setuid')).length, 4, names.join('\n'));
    for (const name of names) {
      const found = lstatSync(join(folder, name));
      assert.deepEqual([found.uid, found.gid], [PLAYER.uid, PLAYER.gid], name);
      assert.equal(found.isFile() ? found.mode & 0o6000 : 0, 0, name);
    }
  });
});
