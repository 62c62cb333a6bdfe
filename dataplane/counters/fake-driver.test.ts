import { describe } from 'node:test';
import { counterSuite } from './driver-suite.ts';
import { FakeCounterDriver } from './fake-driver.ts';

describe('the fake counter driver', () =>
  counterSuite(async () => {
    const counters = new FakeCounterDriver();
    const send = async (frames: readonly Buffer[]) =>
      frames.forEach((frame) => counters.count(frame));
    return { counters, send };
  }));
