import { after, before, describe } from 'node:test';
import { type CounterGround, counterSuite } from '@portcullis/edge/counters/driver-suite.ts';
import { NftCounters } from '@portcullis/edge/counters/nftables/driver.ts';
import { COUNTER_TABLE } from '@portcullis/edge/counters/nftables/ruleset.ts';
import { openCounterReader } from '@portcullis/edge/nftables/counter-reader.ts';
import { createNftDriver } from '@portcullis/edge/nftables/nft.ts';
import type { EarlyDropDriver } from '@portcullis/edge/xdp/driver.ts';
import { createKernelDriver } from '@portcullis/edge/xdp/kernel-driver.ts';
import { NO_UNIONS } from '@portcullis/edge/xdp/unions.ts';
import { missing } from '../requirements.ts';
import { CountedWire } from './counted-wire.ts';

const lacking = missing(['root', 'netns', 'bpf', 'nft', 'python3']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

const ANY_DEVICE = 1;
const SETTINGS = {
  keepReplies: true,
  flowsComplete: true,
  marksAll: false,
  management: [],
  vlans: [],
  remember: { tcp: 432_000, udp: 180, other: 600 },
} as const;

function loaded(): EarlyDropDriver {
  const driver = createKernelDriver({ pins: '' });
  driver.load([], SETTINGS, NO_UNIONS);
  driver.enforce();
  return driver;
}

describe('the counters of the XDP programs', { skip: lacking ?? false }, () => {
  counterSuite(async () => {
    const driver = loaded();
    const send = async (frames: readonly Buffer[]): Promise<void> => {
      for (const frame of frames) driver.judge(frame, ANY_DEVICE);
    };
    return { counters: driver.counters(), send };
  });
});

for (const kind of ['native', 'generic'] as const) {
  describe(`the counters of the XDP programs on a device (${kind})`, {
    skip: lacking ?? false,
  }, () => {
    let wire: CountedWire;
    let driver: EarlyDropDriver | null = null;
    before(() => {
      wire = new CountedWire(kind, kind);
    });
    after(() => {
      driver?.close();
      wire.destroy();
    });
    counterSuite(() =>
      wire.edge.within(async (): Promise<CounterGround> => {
        driver?.detach(wire.ifindex);
        driver?.close();
        driver = loaded();
        const attached = driver.attach(wire.ifindex);
        if (attached.mode !== kind) throw new Error(`attached: ${JSON.stringify(attached)}`);
        return { counters: driver.counters(), send: (frames) => wire.send(frames) };
      }),
    );
  });
}

describe('the counters of nftables', { skip: lacking ?? false }, () => {
  let wire: CountedWire;
  let counters: NftCounters | null = null;
  before(() => {
    wire = new CountedWire('nftables', 'native');
  });
  after(async () => {
    await counters?.close();
    wire.destroy();
  });
  counterSuite(async () => {
    await counters?.close();
    const nft = createNftDriver({ command: wire.edge.command('nft') });
    const open = () => wire.edge.within(() => openCounterReader(COUNTER_TABLE));
    counters = new NftCounters({ apply: (text) => nft.apply(text), open });
    await counters.enter([wire.device]);
    return { counters, send: (frames) => wire.send(frames) };
  });
});
