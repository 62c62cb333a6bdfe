import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { scratchRoot } from '@portcullis/control/db/scratch.ts';
import { makeImages } from '@portcullis/node/images/provide.ts';
import { Dockerd } from '../../docker/dockerd.ts';
import { GameClient } from '../../games/client.ts';
import { skipUnless } from '../../requirements.ts';
import { UpIn } from '../../stack/up-in.ts';

const NEEDS = ['root', 'netns', 'nft', 'postgres', 'docker', 'apt'] as const;
const ADDRESS = '198.51.100.77';
const PATIENCE_MS = 120_000;
const GAME = 'flying-squid';
const SERVER = {
  organisation: 'default',
  service_id: 1,
  name: 'Survival',
  egg: `eggs/${GAME}.json`,
  variables: { MOTD: 'The first game', ONLINE_MODE: 'false' },
  limits: { memory: 1_024, cpu: 200, disk: 2_048 },
};

interface Host {
  readonly ok: boolean;
  readonly commands: readonly string[];
  readonly image: string | null;
}
interface Egg {
  readonly name: string;
  readonly hosts: readonly Host[];
}
interface Server {
  readonly uuid: string;
  readonly allocations: readonly { readonly ip: string; readonly port: number }[];
}

describe('the first game on one box', { skip: skipUnless(NEEDS) }, () => {
  let dockerd: Dockerd;
  let up: UpIn;
  const folder = mkdtempSync(join(scratchRoot(), 'portcullis-first-game-'));

  before(async () => {
    // PostgreSQL runs as another account, which must enter it.
    chmodSync(folder, 0o711);
    // Outside of the namespace, which has no way to any registry; on the host of a person the node does it.
    await makeImages({ names: [GAME] });
    dockerd = await Dockerd.start('first-game');
    await dockerd.end('SIGTERM');
    const { namespace } = dockerd;
    namespace.run('ip', 'link', 'add', 'wan0', 'type', 'veth', 'peer', 'name', 'wan1');
    namespace.run('ip', 'address', 'add', `${ADDRESS}/24`, 'dev', 'wan0');
    for (const device of ['wan0', 'wan1']) namespace.run('ip', 'link', 'set', device, 'up');
    up = await UpIn.start(namespace, folder, ['--docker-host', `unix://${dockerd.socket}`]);
  });
  after(async () => {
    await up?.stop();
    await dockerd?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const hostOf = (name: string): Host | undefined => {
    const eggs = up.operator<Egg[]>('GET', '/eggs');
    return eggs.find((egg) => egg.name === `eggs/${name}.json`)?.hosts[0];
  };
  const until = async (what: string, isSo: () => boolean): Promise<void> => {
    const deadline = performance.now() + PATIENCE_MS;
    while (!isSo()) {
      if (performance.now() > deadline) throw new Error(`not in time: ${what}`);
      await delay(250);
    }
  };

  it('runs its example without Docker, and says by which commands other games run', () => {
    assert.equal(up.started.server?.problem, null);
    assert.equal(hostOf('hearth')?.ok, true);
    const minecraft = hostOf(GAME);
    assert.equal(minecraft?.ok, false);
    assert.match(minecraft?.commands.join() ?? '', /systemctl enable --now docker/);
    assert.match(
      up.operator<{ command: string }>('GET', '/fleet/enforce-command').command,
      /--enforce/,
    );
  });

  it('finds Docker when it comes, makes the image, and Minecraft answers', async () => {
    await dockerd.launch();
    await until('Docker is found', () => hostOf(GAME)?.image === GAME);
    up.operator('POST', `/nodes/local/images/${GAME}`);
    await until('the image is made', () => hostOf(GAME)?.ok === true);
    const [server] = up.operator<Server[]>('POST', '/game-servers', SERVER);
    const { uuid = '', allocations = [] } = server ?? {};
    const [place] = allocations;
    assert.ok(place !== undefined);
    await until('it is built', () => up.server(uuid).provisioned);
    up.power(uuid, 'start');
    await until('it runs', () => up.server(uuid).state === 'running');
    const client = await GameClient.join(dockerd.namespace, 'flying-squid', place.ip, place.port);
    assert.equal(client.facts.name, 'The first game');
    await client.close();
  });

  it('keeps its example running when Docker goes away, and finds the game again with it', async () => {
    const hearth = up.started.server?.uuid ?? '';
    await dockerd.end('SIGTERM');
    await until('it is missed', () => hostOf(GAME)?.ok === false);
    assert.equal(up.server(hearth).state, 'running');
    await dockerd.launch();
    await until('it is found', () => hostOf(GAME)?.ok === true);
    assert.equal(up.server(hearth).state, 'running');
  });
});
