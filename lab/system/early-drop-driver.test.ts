import { describe } from 'node:test';
import { earlyDropSuite } from '@portcullis/edge/xdp/driver-suite.ts';
import { createKernelDriver } from '@portcullis/edge/xdp/kernel-driver.ts';
import { missing } from '../requirements.ts';

const lacking = missing(['root', 'bpf']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

describe("the kernel's early drop", { skip: lacking ?? false }, () => {
  earlyDropSuite(() => createKernelDriver({ pins: '' }), 60);
});
