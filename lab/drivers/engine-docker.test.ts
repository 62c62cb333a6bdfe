import { after, before, describe } from 'node:test';
import { engineSuite, GAME } from '@portcullis/node/engine/suite.ts';
import { buildDockerGround, type DockerGround } from '../docker/docker-fixture.ts';
import { skipUnless } from '../requirements.ts';

describe('the Docker engine', { skip: skipUnless(['docker', 'nft']) }, () => {
  let ground: DockerGround;
  let lastPort = 20_000;
  before(async () => {
    ground = await buildDockerGround('engine');
  });
  after(() => ground.stop());

  engineSuite(() => ({
    engine: ground.engine,
    again: () => ground.open(),
    freePort: () => ({ ip: '127.0.0.1', port: (lastPort += 1) }),
    spec: (uuid) => ground.spec(uuid, GAME),
  }));
});
