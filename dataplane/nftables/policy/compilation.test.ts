import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { Compilation } from './compilation.ts';
import { DEFAULT_FILTERING } from '../filters/compile.ts';
import { compilePolicy } from './compile.ts';
import { LINUX_SERVER, type TcpServer } from '../../filters/tcp-server.ts';
import { allowPort, denyAll } from '../../testing/policies.ts';

const A = '203.0.113.10';

/** A policy that counts its reads. */
function counting(policy: Policy): { readonly policy: Policy; readonly reads: () => number } {
  let reads = 0;
  const { rules, ...rest } = policy;
  const counted = Object.defineProperty({ ...rest }, 'rules', {
    get: () => {
      reads++;
      return rules;
    },
  });
  return { policy: counted as Policy, reads: () => reads };
}

describe('policies compiled ahead of the apply', () => {
  it('are not compiled again', () => {
    const compilation = new Compilation(DEFAULT_FILTERING);
    const { policy, reads } = counting(denyAll(A, [allowPort('udp', 80)]));
    compilation.ahead([policy], 'both');
    const before = reads();
    assert.ok(before > 0);
    const { targets } = compilation.of(new Map([[A, policy]]), 'both');
    assert.equal(reads(), before);
    assert.deepEqual(targets.get(A), compilePolicy(denyAll(A, [allowPort('udp', 80)])));
  });

  it('are compiled again if they or their dependencies have changed', () => {
    const proxied: Policy = {
      ...denyAll(A, [allowPort('tcp', 443)]),
      filters: [
        { ref: 'filter:1', type: 'tcp-syn-proxy', port: 443, managed: false, safelist: [] },
      ],
    };
    const server = { ...LINUX_SERVER[4], mss: 1_000 };
    const cases: readonly {
      readonly wanted?: Policy;
      readonly found?: TcpServer;
      readonly sees?: 'inbound';
    }[] = [{ wanted: denyAll(A, []) }, { found: server }, { sees: 'inbound' }];
    for (const { wanted = proxied, found = null, sees = 'both' } of cases) {
      let known: TcpServer | null = null;
      const filtering = { ...DEFAULT_FILTERING, serverAt: () => known };
      const compilation = new Compilation(filtering);
      compilation.ahead([proxied], 'both');
      const ahead = compilePolicy(proxied, filtering);
      known = found;
      if (found !== null) compilation.recompile([A]);
      const { targets } = compilation.of(new Map([[A, wanted]]), sees);
      assert.deepEqual(targets.get(A), compilePolicy(wanted, { ...filtering, sees }));
      assert.notDeepEqual(targets.get(A), ahead);
    }
  });

  it('report invalid content at the apply', () => {
    const compilation = new Compilation(DEFAULT_FILTERING);
    const broken = denyAll(A, [{ ...allowPort('udp', 80), source: 'nowhere' }]);
    compilation.ahead([broken], 'both');
    const { targets, faults } = compilation.of(new Map([[A, broken]]), 'both');
    assert.deepEqual([targets.size, [...faults.keys()]], [0, [A]]);
  });
});
