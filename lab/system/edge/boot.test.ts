import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { BOOT_SCRIPT } from '@portcullis/edge/boot/unit.ts';
import { startTrial, edgeConfirm, edgeOff } from '@portcullis/edge/switch/switch-files.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { DEFAULT_LIMITS } from '@portcullis/dataplane/nftables/table/edge-rules.ts';
import { createFakeKernel } from '@portcullis/dataplane/nftables/fake.ts';
import { Reconciler } from '@portcullis/edge/reconcile/reconcile.ts';
import { enforcedFolder } from '@portcullis/edge/state/disk.ts';
import { TableText } from '@portcullis/edge/state/table-text.ts';
import { stateOf } from '@portcullis/edge/testing/states.ts';
import { createMachineClock } from '@portcullis/edge/switch/machine-clock.ts';
import { type Namespace, Network } from '../../stack/netns.ts';
import { whyNot } from '../stack-fixture.ts';

/** The capabilities that the unit leaves it. */
const RIGHTS = ['--bounding-set=-all,+net_admin', '--no-new-privs'];
const log = { debug() {}, info() {}, warn() {}, error() {} };

describe('what a boot loads before there is Node', { skip: whyNot() }, () => {
  const network = new Network('boot');
  let host: Namespace;
  before(() => {
    host = network.create('host');
  });
  after(() => network.destroy());

  /** A state directory of an edge that enforced the first generation, then the second. */
  async function leave(t: TestContext) {
    host.run('nft', 'flush', 'ruleset');
    const stateDir = mkdtempSync(join(tmpdir(), 'portcullis-boot-'));
    t.after(() => rmSync(stateDir, { recursive: true, force: true }));
    const folder = enforcedFolder(stateDir);
    const { settings } = stateOf(1);
    await write(
      folder,
      [1, 2].map((generation) => ({ ...stateOf(generation), settings })),
    );
    return {
      stateDir,
      folder,
      whole: join(folder, 'table.nft'),
      since: join(folder, 'table-since.nft'),
    };
  }
  /** The texts of successive states. */
  async function write(folder: string, states: readonly Desired[]): Promise<void> {
    const reconciler = new Reconciler(createFakeKernel(), DEFAULT_LIMITS);
    const text = new TableText(folder, log);
    for (const desired of states) {
      await reconciler.apply(desired);
      const table = await reconciler.table();
      assert.ok(table);
      text.keep(table);
      await text.flush();
    }
  }
  function load(stateDir: string): { readonly status: number | null; readonly said: string } {
    const [program, ...args] = host.command('setpriv', ...RIGHTS, 'sh', BOOT_SCRIPT, stateDir);
    const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
    return { status, said: stderr };
  }
  /** Addresses that have a policy in the kernel. */
  function addresses(): string[] {
    if (!host.run('nft', 'list', 'tables').includes('portcullis')) return [];
    const map = host.run('nft', 'list', 'map', 'inet', 'portcullis', 'address4');
    return [...map.matchAll(/203\.0\.113\.\d+/g)].map(([address]) => address).toSorted();
  }
  function wanted(generation: number): string[] {
    return [...stateOf(generation).policies.keys()].toSorted();
  }

  it('is the newest table, both texts of it', async (t) => {
    const { stateDir } = await leave(t);
    assert.deepEqual(load(stateDir), { status: 0, said: '' });
    assert.deepEqual(addresses(), wanted(2));
  });

  it('is nothing without saved state, or after the operator or a trial disabled the edge', async (t) => {
    const { stateDir } = await leave(t);
    const nothing = load(`${stateDir}/elsewhere`);
    assert.equal(nothing.status, 0);
    assert.match(nothing.said, /nothing is loaded/);
    startTrial(stateDir, 3_600_000, createMachineClock());
    assert.match(load(stateDir).said, /on trial and not confirmed/);
    assert.deepEqual(addresses(), []);
    edgeConfirm(stateDir);
    edgeOff(stateDir);
    assert.deepEqual([load(stateDir).status, addresses()], [0, []]);
    rmSync(join(stateDir, 'off.json'));
    assert.deepEqual([load(stateDir).status, addresses()], [0, wanted(2)]);
  });

  it('lets no mid-connection packet pass a SYN proxy', async (t) => {
    const { stateDir, folder } = await leave(t);
    const loose = (): string =>
      host.run('sysctl', '-n', 'net.netfilter.nf_conntrack_tcp_loose').trim();
    const before = loose();
    assert.deepEqual([load(stateDir).status, loose()], [0, before]);
    const filter = {
      ref: 'filter:1',
      type: 'tcp-syn-proxy',
      port: 25_565,
      managed: false,
      safelist: [],
    } as const;
    const policies = [...stateOf(2).policies].map(
      ([target, policy]) => [target, { ...policy, filters: [filter] }] as const,
    );
    await write(folder, [{ ...stateOf(2), policies: new Map(policies) }]);
    host.run('nft', 'flush', 'ruleset');
    assert.deepEqual([load(stateDir).status, loose()], [0, '0']);
  });

  it('never replaces a table that is there', async (t) => {
    const { stateDir } = await leave(t);
    host.run('nft', 'add', 'table', 'inet', 'portcullis');
    host.run('nft', 'add', 'chain', 'inet', 'portcullis', 'of_an_agent');
    assert.match(load(stateDir).said, /there already/);
    assert.match(host.run('nft', 'list', 'chains', 'inet'), /of_an_agent/);
  });

  it('is no text that was torn, changed or of another whole, which the exit code says', async (t) => {
    const { stateDir, whole, since } = await leave(t);
    const [good, after] = [readFileSync(whole, 'utf8'), readFileSync(since, 'utf8')];
    for (const bad of ['', good.slice(0, -1_000), good.replace('drop', 'accept'), `x${good}`]) {
      writeFileSync(whole, bad);
      assert.deepEqual([load(stateDir).status, addresses()], [1, []]);
    }
    writeFileSync(whole, good);
    appendFileSync(since, 'add table inet mischief\n');
    assert.deepEqual([load(stateDir).status, addresses()], [1, wanted(1)]);
    host.run('nft', 'flush', 'ruleset');
    writeFileSync(since, after.replace(/after \w{8}/, 'after 00000000'));
    assert.deepEqual([load(stateDir).status, addresses()], [0, wanted(1)]);
  });
});
