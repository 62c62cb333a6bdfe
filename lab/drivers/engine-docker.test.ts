import { after, before, describe } from 'node:test';
import { engineSuite, GAME } from '@portcullis/node/engine/suite.ts';
import { startDockerFixture, type DockerFixture } from '../docker/docker-fixture.ts';
import { skipUnless } from '../requirements.ts';

describe('the Docker engine', { skip: skipUnless(['docker', 'nft']) }, () => {
  let fixture: DockerFixture;
  let lastPort = 20_000;
  before(async () => {
    fixture = await startDockerFixture('engine');
  });
  after(() => fixture.stop());

  engineSuite(() => ({
    engine: fixture.engine,
    again: () => fixture.open(),
    freePort: () => ({ ip: '127.0.0.1', port: (lastPort += 1) }),
    spec: (uuid) => fixture.spec(uuid, GAME),
  }));
});
