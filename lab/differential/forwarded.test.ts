import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { it, type TestContext } from 'node:test';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import { repeated } from '@portcullis/core/testing/repeated.ts';
import { compileEarly } from '@portcullis/dataplane/xdp/compile/compile.ts';
import { planUnions } from '@portcullis/dataplane/xdp/compile/unions.ts';
import { type Hook, HOOKS } from '@portcullis/dataplane/xdp/devices/links.ts';
import type { EarlyDropDriver, EarlySettings } from '@portcullis/dataplane/xdp/driver/driver.ts';
import { createKernelDriver } from '@portcullis/dataplane/xdp/driver/kernel-driver.ts';
import { driverWithin } from '../driver-within.ts';
import { require } from '../requirements.ts';
import { addAddress, enableForwarding, type Namespace, Network } from '../stack/netns.ts';
import { Draw, targetsOfRound } from './draw.ts';
import { assertNone, expectedOf, type State, stateOf } from './expected.ts';
import { framesOf, type Numbered, PAYLOAD, PLAIN } from './frames.ts';
import { mutated } from './mutated.ts';
import { VLANS } from './vlans.ts';
import { LOCAL } from './wire.ts';

/**
 * The early drop forwards nothing without the network stack that the reference evaluator drops: the mirror of what it
 * drops. Random policies and packets, with answers of half of the flows, and policies that change between two packets.
 * A failure names its seed; the same seed draws the same run: PORTCULLIS_SEED=123.
 */
const ROUNDS = repeated(3);
const PACKETS_TO_EACH = 40;
const CHANGES = 2;
const PROTECTED = ['203.0.0.0/8', '2001:db8:5::/48'] as const;
/** No other protocol is forwarded, so few of their packets are evaluated. */
const OTHERS_ONE_IN = 10;
const UDP = 17;
/** An answer is evaluated once a second. */
const EVALUATED_MS = 2_000;

for (const hook of HOOKS)
  it(`packets that are forwarded without the network stack are accepted by the reference evaluator, ${hook}, in ${ROUNDS} rounds of ${CHANGES + 1} sets of policies`, (t) => {
    const edge = edgeOf(t, hook);
    if (edge === null) return;
    const seed = Number(process.env['PORTCULLIS_SEED'] ?? randomInt(1, 2 ** 30));
    t.diagnostic(`PORTCULLIS_SEED=${seed}`);
    const draw = new Draw(seed);
    const seen = { packets: 0, accepted: 0, forwarded: 0, answers: 0 };
    for (let round = 0; round < ROUNDS; round++) {
      const { targets, destinations } = targetsOfRound(round);
      const packets = draw
        .packets(destinations, PACKETS_TO_EACH)
        .filter(({ id, packet }) => packet.protocol === UDP || id % OTHERS_ONE_IN === 0);
      let state = stateOf(halfByRules(draw.policies(targets)), draw.sourceSets(), round);
      edge.load(state);
      for (let change = 0; change <= CHANGES; change++) {
        const found = edge.assertAccepted(state, packets);
        seen.packets += packets.length;
        seen.accepted += found.accepted;
        seen.forwarded += found.forwarded;
        seen.answers += found.answers;
        const sets = change === 1 ? draw.sourceSets() : state.desired.sourceSets;
        const policies = halfByRules(mutated(draw, state.policies, targets));
        state = stateOf(policies, sets, round + change + 1);
        edge.load(state);
      }
    }
    t.diagnostic(JSON.stringify(seen));
    // It is there to forward.
    assert.ok(seen.forwarded > seen.packets / 100, JSON.stringify(seen));
    assert.ok(seen.answers > seen.packets / 100, JSON.stringify(seen));
  });

/** The early drop of a host with routes to protected servers, on no device: frames are shown to it one by one. */
class ForwardingEdge {
  readonly #driver: EarlyDropDriver;
  readonly #wan: Link;
  readonly #lan: Link;
  /** The flows of which a server has answered a packet: packets drawn apart may be of one flow. */
  readonly #answered = new Set<string>();
  /** The states that answers may have been evaluated by, with the time of their end. */
  #recent: { readonly state: State; readonly ms: number }[] = [];

  constructor(driver: EarlyDropDriver, wan: Link, lan: Link) {
    this.#driver = driver;
    this.#wan = wan;
    this.#lan = lan;
  }

  load({ desired: { policies, settings, sourceSets } }: State): void {
    this.#recent = this.#recent.map(({ state, ms }) => ({
      state,
      ms: Math.min(ms, performance.now()),
    }));
    const targets = [...policies.values()].map(compileEarly);
    const unions = new Map(targets.flatMap((target) => [...target.unions]));
    const early: EarlySettings = {
      keepReplies: true,
      flowsComplete: true,
      marksAll: false,
      management: [...settings.management],
      named: [this.#wan.ifindex],
      vlans: [{ ifindex: this.#wan.ifindex, outer: VLANS.judged, inner: 0 }],
      remember: { tcp: 600, udp: 600, other: 600 },
    };
    this.#driver.load(targets, early, planUnions(unions, sourceSets));
    this.#driver.enforce();
    const port = { needsChecks: false, isEntry: true, isExit: true, isTcExit: true };
    const mac = (link: Link): Buffer => Buffer.from(link.mac.replaceAll(':', ''), 'hex');
    this.#driver.forward([
      { ...port, ifindex: this.#wan.ifindex, mac: mac(this.#wan) },
      { ...port, ifindex: this.#lan.ifindex, mac: mac(this.#lan) },
    ]);
  }

  /** The servers of half of these packets answer. */
  assertAccepted(
    state: State,
    packets: readonly Numbered[],
  ): Record<'accepted' | 'forwarded' | 'answers', number> {
    const answers = packets.filter((one) => isAnswered(one) && this.#isAnswerForwarded(one));
    const nowMs = performance.now();
    this.#recent = this.#recent.filter(({ ms }) => nowMs - ms < EVALUATED_MS);
    this.#recent.push({ state, ms: Infinity });
    const mayBeAnswered = (one: Numbered): boolean =>
      this.#recent.some((past) => expectedOf(past.state, one).action === 'pass');
    const wrongAnswers = answers.filter(
      (one) =>
        !mayBeAnswered({ ...one, form: PLAIN }) ||
        Object.values<string>(LOCAL).includes(one.packet.destination),
    );
    assertNone(state, wrongAnswers, `whose answers are forwarded without the network stack`);
    const forwarded = packets.filter((one) => {
      if (isAnswered(one)) this.#answer(one);
      // The network stack gets one packet of a flow now and then.
      return this.#isForwarded(one) || (isAnswered(one) && this.#isForwarded(one));
    });
    const wrong = forwarded.filter(
      (one) =>
        expectedOf(state, one).action !== 'pass' ||
        !this.#answered.has(flowOf(one)) ||
        one.form.cut !== 'whole' ||
        Object.values<string>(LOCAL).includes(one.packet.destination),
    );
    assertNone(state, wrong, `forwarded without the network stack, of ${packets.length}`);
    const accepted = packets.filter((one) => expectedOf(state, one).action === 'pass').length;
    return { accepted, forwarded: forwarded.length, answers: answers.length };
  }

  /** The network stack forwards one answer from the inner device, or sends one of the host itself. */
  #answer({ id, packet }: Numbered): void {
    this.#answered.add(flowOf({ packet }));
    const reply = { id, packet: reversed(packet), form: PLAIN, payload: PAYLOAD };
    const isLocal = Object.values<string>(LOCAL).includes(packet.destination);
    for (const frame of framesOf(reply, this.#wan.mac))
      this.#driver.leave(frame, this.#wan.ifindex, isLocal ? 0 : this.#lan.ifindex);
  }

  /** Asks after each answer at once, because the next second begins without one. */
  #isAnswerForwarded(one: Numbered): boolean {
    this.#answer(one);
    const reply = { ...one, packet: reversed(one.packet), form: PLAIN, payload: PAYLOAD };
    const frames = framesOf(reply, this.#lan.mac);
    return HOOKS.some((hook) =>
      frames.some((frame) => this.#driver.forwardedAnswer(frame, this.#lan.ifindex, hook) !== null),
    );
  }

  #isForwarded(one: Numbered): boolean {
    return framesOf(one, this.#wan.mac).some(
      (frame) => this.#driver.forwardedFrame(frame, this.#wan.ifindex) !== null,
    );
  }
}

/** Policies with mitigations or filters on UDP let nothing be forwarded. */
function halfByRules(policies: readonly Policy[]): Policy[] {
  return policies.map((policy, index) =>
    index % 2 === 0 ? policy : { ...policy, mitigations: [], filters: [] },
  );
}

function flowOf({ packet }: Pick<Numbered, 'packet'>): string {
  const { source, sourcePort, destination, destinationPort } = packet;
  return [source, sourcePort, destination, destinationPort].join(' ');
}

function isAnswered({ id, packet }: Numbered): boolean {
  return id % 2 === 0 && packet.protocol === UDP;
}

interface Link {
  readonly ifindex: number;
  readonly mac: string;
}

function edgeOf(t: TestContext, hook: Hook): ForwardingEdge | null {
  if (!require(t, ['root', 'netns', 'bpf'])) return null;
  const network = new Network('forwarded');
  const [client, edge, behind] = ['client', 'edge', 'behind'].map((role) =>
    network.create(role),
  ) as [Namespace, Namespace, Namespace];
  const none = { device: 'eth', addresses: [] };
  network.join(client, none, edge, {
    device: 'wan',
    addresses: ['198.51.97.1/24', '2001:db8:fd::1/64'],
  });
  network.join(behind, none, edge, {
    device: 'lan',
    addresses: ['198.51.99.1/24', '2001:db8:fe::1/64'],
  });
  enableForwarding(edge);
  for (const address of Object.values(LOCAL)) addAddress(edge, 'lo', address);
  const hops = [
    [4, 'lan', '198.51.99.2', PROTECTED[0]],
    [6, 'lan', '2001:db8:fe::2', PROTECTED[1]],
    [4, 'wan', '198.51.97.2', 'default'],
    [6, 'wan', '2001:db8:fd::2', 'default'],
  ] as const;
  for (const [family, device, via, network] of hops) {
    const to = ['lladdr', '02:00:00:00:00:99', 'nud', 'permanent'];
    edge.run('ip', 'neighbour', 'add', via, 'dev', device, ...to);
    edge.run('ip', `-${family}`, 'route', 'add', network, 'via', via);
  }
  const driver = driverWithin(edge, createKernelDriver({ pins: '', hooks: [hook] }));
  t.after(() => {
    driver.close();
    network.destroy();
  });
  return new ForwardingEdge(driver, linkOf(edge, 'wan'), linkOf(edge, 'lan'));
}

function linkOf(namespace: Namespace, device: string): Link {
  const [link] = JSON.parse(namespace.run('ip', '-j', 'link', 'show', 'dev', device)) as [
    { readonly ifindex: number; readonly address: string },
  ];
  return { ifindex: link.ifindex, mac: link.address };
}

function reversed(packet: Packet): Packet {
  const { source, destination, sourcePort, destinationPort } = packet;
  return {
    ...packet,
    source: destination,
    destination: source,
    sourcePort: destinationPort,
    destinationPort: sourcePort,
  };
}
