import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { PROTOCOL_NUMBERS } from '@portcullis/core/firewall/match.ts';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import { type Family, parseAddress } from '@portcullis/core/net/address.ts';
import { createLineLog } from '@portcullis/agent/log.ts';
import {
  DEFAULT_LIMITS,
  type EdgeLimits,
} from '@portcullis/dataplane/nftables/table/edge-rules.ts';
import { createLibraryDriver } from '@portcullis/dataplane/nftables/library.ts';
import { TABLE } from '@portcullis/dataplane/nftables/names.ts';
import { Reconciler } from '@portcullis/edge/reconcile/reconcile.ts';
import { compileEarly } from '@portcullis/dataplane/xdp/compile/compile.ts';
import { planUnions } from '@portcullis/dataplane/xdp/compile/unions.ts';
import { deviceName, readDevice } from '@portcullis/dataplane/xdp/devices/device.ts';
import type { EarlyDropDriver } from '@portcullis/dataplane/xdp/driver/driver.ts';
import { EarlyDrop } from '@portcullis/dataplane/xdp/early-drop.ts';
import { type Hook, HOOKS } from '@portcullis/dataplane/xdp/devices/links.ts';
import type { Flow } from '@portcullis/dataplane/xdp/flows/mark-keys.ts';
import { addressBytes } from '@portcullis/dataplane/xdp/maps/layout.ts';
import { createKernelDriver } from '@portcullis/dataplane/xdp/driver/kernel-driver.ts';
import { driverWithin } from '../driver-within.ts';
import {
  assertNone,
  CATALOGUE,
  expectedOf,
  type Known,
  NOTHING_KNOWN,
  ROOM,
  type State,
} from './expected.ts';
import { framesOf, type Numbered } from './frames.ts';
import { opens } from './segments.ts';
import { JudgedProxy } from './syn-proxy.ts';
import { VLANS } from './vlans.ts';
import { type Judged, JudgedWire } from './wire.ts';

const NO_LIMITS: EdgeLimits = {
  ...DEFAULT_LIMITS,
  icmpRates: { errors: ROOM, neighbours: ROOM },
  fragmentLimits: {
    unknownPerDestination: ROOM,
    unknownUnassembled: ROOM,
    unknown: ROOM,
    knownPair: ROOM,
    knownPerDestination: ROOM,
    known: ROOM,
    unprotected: ROOM,
    unprotectedBurst: ROOM,
  },
};
const REMEMBER = { tcp: 600, udp: 600, other: 600 } as const;
const ANY_MAC = '02:00:00:00:00:01';
const ANY_DEVICE = 1;

/** Half of the sources that a filter on UDP may ask about. */
function validated({ protocol, sourcePort }: Packet): boolean {
  return protocol === PROTOCOL_NUMBERS.udp && sourcePort !== null && sourcePort % 2 === 0;
}

/**
 * Half of the sources of datagrams, and of those that send what only a connection has. What opens one is a stranger's to
 * a SYN proxy anyway.
 */
function established({ packet: { protocol, sourcePort }, form }: Numbered): boolean {
  if (sourcePort === null || sourcePort % 2 !== 0) return false;
  return protocol === PROTOCOL_NUMBERS.udp || !opens(form.flags);
}

/** Half of these connections. */
function opened({ packet: { sourcePort } }: Numbered): boolean {
  return sourcePort !== null && sourcePort % 4 === 0;
}

/** nftables of a judged wire, with the early drop in front or without it, as the agent applies to them. */
export class JudgedEdge {
  readonly wire = new JudgedWire();
  readonly #reconciler: Reconciler;
  readonly #drivers: readonly EarlyDropDriver[];
  readonly #earlyDrops: Readonly<Record<Hook, EarlyDrop>>;
  /** On no device: frames are shown to it one by one. */
  readonly #alone: EarlyDropDriver = createKernelDriver({ pins: '' });
  #inFront: Hook | null = null;
  /** How often each stage decided. */
  readonly stages = new Map<string, number>();
  /** The same, of what the early drop dropped alone. */
  readonly earlyStages = new Map<string, number>();
  readonly proxy = new JudgedProxy(this.wire);

  constructor() {
    const { edge } = this.wire;
    this.#reconciler = new Reconciler(edge.within(createLibraryDriver), NO_LIMITS, {
      catalogue: CATALOGUE,
    });
    const [native, tc] = HOOKS.map((hook) =>
      driverWithin(edge, createKernelDriver({ pins: '', hooks: [hook] })),
    ) as [EarlyDropDriver, EarlyDropDriver];
    this.#drivers = [native, tc, this.#alone];
    this.#earlyDrops = { native: this.#earlyDropOf(native), tc: this.#earlyDropOf(tc) };
  }

  #earlyDropOf(driver: EarlyDropDriver): EarlyDrop {
    const { edge } = this.wire;
    return new EarlyDrop({
      driver,
      deviceName: (ifindex) => edge.within(() => deviceName(ifindex)),
      readDevice: (name) => {
        const device = edge.within(() => readDevice(name));
        if (device === null || name !== 'wan') return device;
        // What stands in for VLAN devices is not built upon it as far as the kernel knows.
        const uppers = Object.values(VLANS).map((vlan) => ({ name: `wan.${vlan}`, vlan }));
        return { ...device, uppers, isPort: false, hidesTags: false, isEthernet: true };
      },
      listDevices: () => ['wan'],
      openFlows: async () => true,
      remember: () => REMEMBER,
      forwarding: null,
      log: createLineLog('edge', (line) => process.stderr.write(line), 'warn'),
    });
  }

  destroy(): void {
    for (const earlyDrop of Object.values(this.#earlyDrops)) {
      earlyDrop.remove();
      earlyDrop.close();
    }
    this.#alone.close();
    this.wire.destroy();
  }

  async apply({ desired }: State): Promise<void> {
    const { refused } = await this.#reconciler.apply(desired);
    assert.deepEqual(refused, []);
    if (this.#inFront === null) return;
    const earlyDrop = this.#earlyDrops[this.#inFront];
    await earlyDrop.apply(desired, refused);
    const { xdp, reason } = earlyDrop.modeOf('wan');
    assert.deepEqual([xdp, reason, earlyDrop.problems()], [this.#inFront, reason, []]);
  }

  /** The early drop in front of nftables, from now on. */
  async putInFront(state: State, hook: Hook = 'native'): Promise<void> {
    this.#inFront = hook;
    await this.apply(state);
  }

  takeAway(): void {
    if (this.#inFront !== null) this.#earlyDrops[this.#inFront].remove();
    this.#inFront = null;
  }

  /** Answers how many packets the early drop dropped. */
  async assertAgreement(
    state: State,
    packets: readonly Numbered[],
    returns: Known['returns'] = NOTHING_KNOWN.returns,
  ): Promise<number> {
    this.#validate(packets);
    this.#answer(packets);
    const clients = packets.filter((one) => established(one) && !returns(one.packet));
    this.wire.establish(clients.map((one) => ({ ...one.packet, opened: opened(one) })));
    const known = { returns, validated, established, opened };
    const expected = new Map(packets.map((one) => [one, expectedOf(state, one, known)]));
    for (const { stage } of expected.values())
      this.stages.set(stage, (this.stages.get(stage) ?? 0) + 1);
    const mayVanish = (one: Numbered): boolean =>
      this.#inFront !== null && expected.get(one)?.action === 'drop';
    const judged = await this.wire.judge(packets, mayVanish);
    const wrong = packets.filter((one) => actionOf(judged, one) !== expected.get(one)?.action);
    assertNone(state, wrong, `judged otherwise, of ${packets.length}`);
    this.proxy.judged({ state, packets, known, judged });
    return judged.vanished.size;
  }

  #validate(packets: readonly Numbered[]): void {
    const keys: Record<Family, Set<string>> = { 4: new Set(), 6: new Set() };
    for (const { packet } of packets) {
      if (!validated(packet)) continue;
      const { family, source, sourcePort, destination, destinationPort } = packet;
      keys[family].add(`${source} . ${sourcePort} . ${destination} . ${destinationPort}`);
    }
    const text = ([4, 6] as const)
      .filter((family) => keys[family].size > 0)
      .map((family) => `add element ${TABLE} validated${family} { ${[...keys[family]].join()} }\n`);
    const [program, ...args] = this.wire.edge.command('nft', '-f', '-');
    execFileSync(program, args, { input: text.join('') });
  }

  /** A source is validated by a reply, which the early drop has seen leave. */
  #answer(packets: readonly Numbered[]): void {
    const flows = packets.flatMap(({ packet }): Flow[] => {
      const { family, protocol, destinationPort, sourcePort } = packet;
      const [local, remote] = [packet.destination, packet.source].map((text) => {
        const address = parseAddress(text);
        assert.ok(address.ok);
        return addressBytes(address.value);
      });
      if (!validated(packet) || local === undefined || remote === undefined) return [];
      if (destinationPort === null || sourcePort === null) return [];
      const ports = { localPort: destinationPort, remotePort: sourcePort };
      return [{ family, protocol, local, remote, ...ports }];
    });
    for (const driver of this.#drivers) driver.remember(flows);
  }

  /** Every frame alone: whole packets and parts. Answers how many packets are dropped without nftables. */
  assertDropsNoMore(state: State, packets: readonly Numbered[]): number {
    const { policies, settings, sourceSets } = state.desired;
    const targets = [...policies.values()].map(compileEarly);
    const asked = new Map(targets.flatMap(({ unions }) => [...unions]));
    const early = {
      keepReplies: settings.sees === 'both',
      flowsComplete: true,
      marksAll: false,
      management: [...settings.management],
      named: [],
      vlans: [{ ifindex: ANY_DEVICE, outer: VLANS.judged, inner: 0 }],
      remember: REMEMBER,
    };
    this.#alone.load(targets, early, planUnions(asked, sourceSets));
    this.#alone.enforce();
    const dropped = packets.filter((one) =>
      framesOf(one, ANY_MAC).some((frame) => this.#alone.evaluate(frame, ANY_DEVICE) === 'drop'),
    );
    const wrong = dropped.filter((one) => {
      const { action, stage } = expectedOf(state, one, {
        ...NOTHING_KNOWN,
        validated,
        established,
        opened,
      });
      this.earlyStages.set(stage, (this.earlyStages.get(stage) ?? 0) + 1);
      return action !== 'drop';
    });
    assertNone(state, wrong, `dropped by XDP alone, of ${packets.length}`);
    return dropped.length;
  }
}

export function actionOf({ passed }: Judged, { id }: Numbered): 'pass' | 'drop' {
  return passed.has(id) ? 'pass' : 'drop';
}
