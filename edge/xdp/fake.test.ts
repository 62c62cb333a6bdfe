import { describe } from 'node:test';
import { earlyDropSuite } from './driver-suite.ts';
import { createFakeEarlyDrop } from './fake.ts';

describe('the fake early drop', () => earlyDropSuite(createFakeEarlyDrop, 2_000));
