import { describe } from 'node:test';
import { counterSuite } from '@portcullis/edge/counters/driver-suite.ts';
import { createKernelDriver } from '@portcullis/edge/xdp/kernel-driver.ts';
import { NO_UNIONS } from '@portcullis/edge/xdp/unions.ts';
import { missing } from '../requirements.ts';

const lacking = missing(['root', 'netns', 'bpf']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

const DEVICE = 1;
const SETTINGS = {
  keepReplies: true,
  flowsComplete: true,
  marksAll: false,
  management: [],
  vlans: [],
  remember: { tcp: 432_000, udp: 180, other: 600 },
} as const;

describe('the counters of the XDP programs', { skip: lacking ?? false }, () => {
  counterSuite(async () => {
    const driver = createKernelDriver({ pins: '' });
    driver.load([], SETTINGS, NO_UNIONS);
    driver.enforce();
    const send = async (frames: readonly Buffer[]): Promise<void> => {
      for (const frame of frames) driver.judge(frame, DEVICE);
    };
    return { counters: driver.counters(), send };
  });
});
