import { describe } from 'node:test';
import { driverSuite } from './driver-suite.ts';
import { createFakeKernel } from './fake.ts';

describe('the fake kernel', () => driverSuite(createFakeKernel));
