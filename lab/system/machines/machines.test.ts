import { after, before, describe } from 'node:test';
import { skipUnless } from '../../requirements.ts';
import { Machines } from '../../stack/machines.ts';
import { faultTests } from './faults.ts';
import { joinTests } from './join.ts';
import { natsTests } from './nats.ts';

describe('many machines', {
  skip: skipUnless(['root', 'netns', 'nft', 'postgres', 'nats-server', 'faketime']),
}, () => {
  let machines: Machines;
  const started = (): Machines => machines;
  before(async () => {
    machines = await Machines.start('machines', {
      edges: ['fra1', 'ams1'],
      bare: ['par1', 'lon1'],
    });
  });
  after(() => machines.stop());

  faultTests(started);
  natsTests(started);
  joinTests(started);
});
