import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { DEFAULT_LIMITS } from '@portcullis/dataplane/nftables/table/edge-rules.ts';
import { createLibraryDriver } from '@portcullis/dataplane/nftables/library.ts';
import { Reconciler } from '@portcullis/edge/reconcile/reconcile.ts';
import { denyAll } from '@portcullis/dataplane/testing/policies.ts';
import { DEVICE, Range } from '../bench/generator/traffic.ts';
import { missing } from '../requirements.ts';

const lacking = missing(['root', 'netns', 'nft', 'bpf', 'ethtool']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

const SERVER = '203.0.113.10';
const FLOOD = {
  family: 4,
  destination: SERVER,
  destinations: 1,
  source: '11.0.0.0',
  sourceRandom: 0xffff,
  sourcePorts: [1024, 65_535],
  ports: [1, 65_535],
  tcpShare: 0.5,
} as const;
/** Behind everything that judges. */
const COUNTER = `table ip passed {
  chain passed { type filter hook forward priority 0; ip daddr ${SERVER} counter; }
}`;
const A_ROUND = 100_000;
const REWRITES = 200;

describe('a table that is written whole, again and again', { skip: lacking ?? false }, () => {
  for (const sees of ['both', 'inbound'] as const) {
    it(`lets not one packet of a flood pass while it takes its own place (sees ${sees})`, async (t) => {
      const range = new Range(`rewrite-${sees}`);
      t.after(() => range.destroy());
      const target = range.target();
      const reconciler = new Reconciler(
        target.namespace.within(createLibraryDriver),
        DEFAULT_LIMITS,
      );
      await reconciler.apply(desired(sees));
      target.namespace.run('nft', COUNTER);
      const state = { done: false, sent: 0 };
      const flooding = (async () => {
        while (!state.done) {
          state.sent += (await range.send(target, FLOOD, A_ROUND)).taken;
        }
      })();
      for (let rewrite = 0; rewrite < REWRITES; rewrite++) {
        reconciler.invalidate();
        await reconciler.apply(desired(sees));
      }
      state.done = true;
      await flooding;
      const [, passed] =
        /packets (\d+)/.exec(target.namespace.run('nft', 'list', 'table', 'ip', 'passed')) ?? [];
      t.diagnostic(`${passed} of ${state.sent} packets passed ${REWRITES} rewrites`);
      assert.ok(state.sent >= A_ROUND);
      assert.equal(passed, '0');
    });
  }
});

function desired(sees: 'both' | 'inbound'): Desired {
  return {
    generation: 1,
    policies: new Map([[SERVER, denyAll(SERVER)]]),
    sourceSets: { version: '', sets: {} },
    settings: {
      name: 'edge',
      site: 'lab',
      devices: [DEVICE],
      management: [],
      sees,
      fragments: 'reassemble',
    },
  };
}
