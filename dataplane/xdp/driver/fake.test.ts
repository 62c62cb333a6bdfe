import { describe } from 'node:test';
import { countSuite } from './count-suite.ts';
import { earlyDropSuite } from './driver-suite.ts';
import { createFakeEarlyDrop } from './fake.ts';
import { capacitySuite } from './capacity-suite.ts';
import { greetingsSuite } from './greetings-suite.ts';
import { statelessDropsSuite } from './stateless-drops-suite.ts';

describe('the fake early drop', () => {
  earlyDropSuite(createFakeEarlyDrop, 1_000);
  countSuite(createFakeEarlyDrop);
  statelessDropsSuite(createFakeEarlyDrop);
  greetingsSuite(createFakeEarlyDrop);
  capacitySuite((room) => createFakeEarlyDrop({ capacity: room }), 200);
});
