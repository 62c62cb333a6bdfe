import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { allowPort, denyAll, EARLY_SETTINGS } from '@portcullis/dataplane/testing/policies.ts';
import { compileEarly } from '@portcullis/dataplane/xdp/compile/compile.ts';
import { NO_UNIONS } from '@portcullis/dataplane/xdp/compile/unions.ts';
import { HOOKS } from '@portcullis/dataplane/xdp/devices/links.ts';
import type { EarlyDropDriver } from '@portcullis/dataplane/xdp/driver/driver.ts';
import { createKernelDriver } from '@portcullis/dataplane/xdp/driver/kernel-driver.ts';
import { datagram, ForwardingWire, SERVER, SERVER_PORT } from '../differential/forwarding-wire.ts';
import { driverWithin } from '../driver-within.ts';
import { mountBpffs, unmountBpffs } from '../kernel/bpffs.ts';
import { require } from '../requirements.ts';

const PATIENCE_MS = 30_000;

for (const hook of HOOKS) {
  it(`attaches the program of answers where they enter, and hands it to the next agent, ${hook}`, (t) => {
    const bed = bedOf(t);
    if (bed === null) return;
    const { lan, wan, agent } = bed;
    const first = agent();
    const devices = [
      { ifindex: lan, hooks: [hook] },
      { ifindex: wan, hooks: [hook] },
    ];
    first.forwardAnswers(devices);
    assert.equal(first.answering().size, 0, 'none has come');
    first.leave(bed.answer, wan, lan);
    first.forwardAnswers(devices);
    assert.deepEqual(first.answering(), new Map([[lan, hook]]));
    first.close();
    const next = agent();
    assert.deepEqual(next.answering(), new Map([[lan, hook]]));
    next.forwardAnswers(devices);
    assert.deepEqual(next.answering(), new Map([[lan, hook]]));
    // A card may begin to remove VLAN tags.
    const other = hook === 'tc' ? 'native' : 'tc';
    next.forwardAnswers([{ ifindex: lan, hooks: [other] }]);
    assert.deepEqual(next.answering(), new Map([[lan, other]]));
    // A device that gets a program of the early drop has protected hosts no more.
    assert.equal(next.attach(lan).mode, 'native');
    assert.equal(next.answering().size, 0);
    next.detach(lan);
    next.forwardAnswers(devices);
    next.forwardAnswers([]);
    assert.equal(next.answering().size, 0);
    next.close();
  });

  it(`forwards answers for a second at most after the network stack, and never while all is marked, ${hook}`, async (t) => {
    const bed = bedOf(t);
    if (bed === null) return;
    const { lan, wan, agent } = bed;
    const driver = agent();
    const isForwarded = (): boolean => {
      driver.leave(bed.answer, wan, lan);
      return driver.forwardedAnswer(bed.answer, lan, hook) !== null;
    };
    const deadlineMs = performance.now() + PATIENCE_MS;
    // A second may end between both.
    while (!isForwarded()) assert.ok(performance.now() < deadlineMs, 'none is forwarded');
    while (driver.forwardedAnswer(bed.answer, lan, hook) !== null) {
      assert.ok(performance.now() < deadlineMs, 'it goes on');
      await wait(100);
    }
    while (!isForwarded()) assert.ok(performance.now() < deadlineMs, 'none is forwarded again');
    driver.configure({ ...EARLY_SETTINGS, named: [wan], marksAll: true });
    assert.equal(driver.forwardedAnswer(bed.answer, lan, hook), null);
    driver.configure({ ...EARLY_SETTINGS, named: [wan] });
    driver.forward(null);
    assert.equal(isForwarded() || isForwarded(), false);
    driver.close();
  });
}

interface Bed {
  readonly lan: number;
  readonly wan: number;
  /** A frame of an answer as it enters by the inner device. */
  readonly answer: Buffer;
  /** A driver with a policy, that may forward between both devices. */
  agent(): EarlyDropDriver;
}

function bedOf(t: TestContext): Bed | null {
  if (!require(t, ['root', 'netns', 'bpf', 'ethtool'])) return null;
  const wire = new ForwardingWire();
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-answers-'));
  const bpffs = join(folder, 'bpffs');
  mountBpffs(bpffs);
  t.after(() => {
    wire.destroy();
    unmountBpffs(bpffs);
    rmSync(folder, { recursive: true });
  });
  wire.setNeighbour('wan', '02:00:00:00:00:07');
  const [wan, lan] = [wire.linkOf(wire.edge, 'wan'), wire.linkOf(wire.edge, 'lan')];
  const ports = [wan, lan].map(({ ifindex, mac }) => ({
    ifindex,
    mac: Buffer.from(mac.replaceAll(':', ''), 'hex'),
    isEntry: true,
    isExit: true,
    isTcExit: true,
    needsChecks: false,
  }));
  const settings = { ...EARLY_SETTINGS, named: [wan.ifindex] };
  const agent = (): EarlyDropDriver => {
    const driver = driverWithin(wire.edge, createKernelDriver({ pins: join(bpffs, 'pins') }));
    const policy = denyAll(SERVER[4], [allowPort('udp', SERVER_PORT)]);
    driver.load([compileEarly(policy)], settings, NO_UNIONS);
    driver.enforce();
    driver.forward(ports);
    return driver;
  };
  const frame = { family: 4, to: lan.mac, payload: Buffer.alloc(40), isAnswer: true } as const;
  return { lan: lan.ifindex, wan: wan.ifindex, answer: datagram(frame), agent };
}
