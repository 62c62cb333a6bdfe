import { execFileSync } from 'node:child_process';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import {
  closeDescriptor,
  type Descriptor,
  type XdpMode,
} from '@portcullis/dataplane/kernel/bpf/bpf.ts';
import { compileEarly } from '@portcullis/dataplane/xdp/compile/compile.ts';
import type { EarlyDropDriver } from '@portcullis/dataplane/xdp/driver/driver.ts';
import { EARLY_SETTINGS } from '@portcullis/dataplane/testing/policies.ts';
import { planPorts, readPortFacts } from '@portcullis/dataplane/xdp/forwarding/ports.ts';
import { createKernelDriver } from '@portcullis/dataplane/xdp/driver/kernel-driver.ts';
import { NO_UNIONS } from '@portcullis/dataplane/xdp/compile/unions.ts';
import type { DeviceMode } from '@portcullis/dataplane/xdp/devices/device.ts';
import { BenchEdge, type BenchEdgeOptions, type Settings } from './edge-process.ts';
import { linearTable, lookupTable } from './hand-tables.ts';
import { type Fleet, flowsOf, policiesOf, sourceSetsOf } from './policies.ts';
import {
  DEVICE,
  dropAtIngress,
  dropByXdp,
  linkOf,
  Range,
  SINK,
  type Target,
} from '../generator/traffic.ts';

const FORWARDED_FLOWS = 2 ** 16;

interface EdgeOptions {
  readonly sees?: Settings['sees'];
  /** Where packets are dropped early. */
  readonly mode?: DeviceMode['xdp'];
  readonly sets?: SourceSets['sets'];
  /** Networks whose traffic it counts and on which it detects attacks. */
  readonly scopes?: BenchEdgeOptions['scopes'];
  /** Answered flows are forwarded without the network stack. */
  readonly fastPath?: boolean;
  /** See `Range.target`. */
  readonly answers?: boolean;
}

/** The measured subjects, each on a target of its own. Everything ends with `destroy`. */
export class Subjects {
  readonly range: Range;
  readonly #descriptors: Descriptor[] = [];
  readonly #edges: BenchEdge[] = [];
  readonly #drivers: EarlyDropDriver[] = [];
  #startMs = 0;

  constructor(label: string) {
    this.range = new Range(label);
  }

  /** Forwards everything and follows connections. */
  tracking({ answers = false } = {}): Target {
    const target = this.range.target({ answers });
    load(
      target,
      'table inet tracking {\n chain forward {\n type filter hook forward priority 0; ct state invalid drop;\n }\n}\n',
    );
    return target;
  }

  bare(): Target {
    const target = this.range.target();
    load(target, dropAtIngress(DEVICE));
    return target;
  }

  /** The least that XDP can do; `generic` without help of the driver. */
  rawDrop(mode: XdpMode): Target {
    const target = this.range.target();
    this.#descriptors.push(...target.namespace.within(() => dropByXdp(target.receiver, mode)));
    return target;
  }

  /** Both stages, by the edge's own process. */
  async edge(
    fleet: Fleet,
    sees: Settings['sees'],
    mode: EdgeOptions['mode'] = 'native',
  ): Promise<Target> {
    return this.edgeWith(policiesOf(fleet), { sees, mode, sets: sourceSetsOf(fleet) });
  }

  /** The same with these policies. */
  async edgeWith(policies: readonly Policy[], options: EdgeOptions = {}): Promise<Target> {
    return (await this.running(policies, options)).target;
  }

  /** The same, with its process. */
  async running(
    policies: readonly Policy[],
    {
      sees = 'both',
      mode = 'native',
      sets = {},
      scopes = [],
      fastPath = false,
      answers = false,
    }: EdgeOptions = {},
  ): Promise<{ readonly target: Target; readonly edge: BenchEdge }> {
    const target = this.range.target({ xdp: mode !== 'tc', answers });
    const env = {
      PORTCULLIS_EARLY_DROP: mode === 'none' ? 'off' : 'on',
      PORTCULLIS_FAST_PATH: fastPath ? 'on' : 'off',
    };
    const edge = new BenchEdge(target.namespace, policies, settingsOf(sees), { sets, scopes, env });
    this.#edges.push(edge);
    this.#startMs = await edge.start();
    const got = (await edge.reported()).devices?.find(({ name }) => name === DEVICE)?.xdp;
    if (got !== mode) throw new Error(`the early drop is ${got}, not ${mode}`);
    return { target, edge };
  }

  /** The start of the edge that was started last. */
  get startMs(): number {
    return this.#startMs;
  }

  /** The early drop alone, where the protected side has opened so many flows to anywhere. */
  earlyDrop(fleet: Fleet, flows: number): Target {
    const target = this.range.target();
    const driver = createKernelDriver({ pins: '' });
    this.#drivers.push(driver);
    const settings = {
      ...settingsOf('both'),
      keepReplies: true,
      flowsComplete: true,
      marksAll: false,
      named: [],
      vlans: [],
    };
    const remember = { tcp: 432_000, udp: 600, other: 600 };
    target.namespace.within(() => {
      const targets = policiesOf(fleet).map(compileEarly);
      driver.load(targets, { ...settings, remember }, NO_UNIONS);
      const { mode } = driver.attach(target.receiver);
      if (mode !== 'native') throw new Error(`the early drop is ${mode}`);
    });
    driver.remember(flowsOf(fleet, flows));
    return target;
  }

  /**
   * The early drop alone, which forwards answers by XDP. Call `renew` before each round: it acts for the agent. A device of
   * the bench is a veth, so that the agent would forward answers at tc ingress.
   */
  answersByXdp(fleet: Fleet): { readonly target: Target; readonly renew: () => void } {
    const target = this.range.target({ answers: true });
    const { namespace, receiver } = target;
    const driver = createKernelDriver({ pins: '', flows: FORWARDED_FLOWS });
    this.#drivers.push(driver);
    const { ifindex } = linkOf(namespace, SINK.device);
    const settings = { ...EARLY_SETTINGS, named: [receiver] };
    namespace.within(() => {
      driver.load(policiesOf(fleet).map(compileEarly), settings, NO_UNIONS);
      driver.enforce();
      const { mode } = driver.attach(receiver);
      if (mode !== 'native') throw new Error(`the early drop is ${mode}`);
      driver.watch([receiver, ifindex]);
    });
    const renew = (): void =>
      namespace.within(() => {
        driver.forwardAnswers([{ ifindex, hooks: ['native'] }]);
        const answering = driver.answering();
        const entries = new Map([[receiver, 'native']] as const);
        const facts = readPortFacts({ entries, answering }, () => false);
        const { ports } = planPorts(facts, entries);
        driver.forward(
          ports.map((port) => ({ ...port, isEntry: port.isEntry || answering.has(port.ifindex) })),
        );
      });
    return { target, renew };
  }

  nftables(fleet: Fleet, sees: Settings['sees']): Promise<Target> {
    return this.edge(fleet, sees, 'none');
  }

  linear(fleet: Fleet): Target {
    const target = this.range.target();
    load(target, linearTable(policiesOf(fleet)));
    return target;
  }

  lookups(fleet: Fleet, sources: boolean, counts = false): Target {
    const target = this.range.target();
    load(target, lookupTable(policiesOf(fleet), fleet.family, { sources, counts }));
    return target;
  }

  async destroy(): Promise<void> {
    for (const descriptor of this.#descriptors.splice(0)) closeDescriptor(descriptor);
    for (const driver of this.#drivers) driver.close();
    for (const edge of this.#edges) await edge.destroy();
    this.range.destroy();
  }
}

export function settingsOf(sees: Settings['sees']): Settings {
  return {
    devices: [DEVICE],
    management: [{ protocol: 'tcp', port: 22 }],
    sees,
    fragments: 'reassemble',
  };
}

/** Runs this text in the namespace of a target. */
export function load({ namespace }: Target, text: string): void {
  const [program, ...args] = namespace.command('nft', '-f', '-');
  execFileSync(program, args, { input: text, stdio: ['pipe', 'ignore', 'inherit'] });
}
