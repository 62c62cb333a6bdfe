import type { SourceSets } from '@portcullis/core/firewall/policy.ts';
import type { EdgeAssignment, RefusedTarget } from '@portcullis/link/messages.ts';
import type { Desired } from '../desired.ts';
import type { DeviceMode, DeviceModes } from '../devices.ts';
import type { DropReading } from '../drop-ledger.ts';
import { describeError, type Log } from '@portcullis/link/agent-log.ts';
import { changedKeys } from '../changed-keys.ts';
import type { DropSource } from '../report.ts';
import { closes } from './closing.ts';
import { EarlyCompilation } from './compilation.ts';
import { type EarlyTarget, isPassedOn } from './compile.ts';
import { type Device, type DevicePlan, planDevice } from './device.ts';
import type { Attached, EarlyDropDriver, EarlySettings } from './driver.ts';
import { EarlyDropCounts } from './counts.ts';
import type { Flow } from './flow-marks.ts';
import { planUnions } from './unions.ts';

export interface EarlyDropOptions {
  readonly driver: EarlyDropDriver;
  readonly readDevice: (name: string) => Device | null;
  /** Names of the devices that packets may leave by. */
  readonly listDevices: () => readonly string[];
  /** Shows everything that connection tracking knows, as replies to it come in. False: some may be missing. */
  readonly openFlows: (take: (flow: Flow) => void) => Promise<boolean>;
  readonly remember: () => EarlySettings['remember'];
  readonly log: Log;
}

/**
 * Keeps the early drop to what nftables judges by. It may drop less, never more: where it cannot be brought
 * up to date it is taken off. Nothing here fails an apply, for nftables is complete without it.
 */
export class EarlyDrop implements DeviceModes, DropSource {
  readonly name = 'the early drop';
  readonly #options: EarlyDropOptions;
  readonly #compilation = new EarlyCompilation();
  readonly #counts: EarlyDropCounts;
  #loaded: ReadonlyMap<string, EarlyTarget> | null = null;
  #settings: EarlySettings | null = null;
  /** Unions of source sets that rules ask, and the data that they were filled from. */
  #asked: AskedUnions = new Map();
  #setsVersion = '';
  #named: readonly string[] = [];
  /** What the named devices were at the beginning of this apply. */
  #seen: ReadonlyMap<string, Device | null> = new Map();
  readonly #modes = new Map<string, KnownDevice>();
  /** Why it cannot work at all; undefined: not asked yet. */
  #lack: string | null | undefined;
  #flowsKnown = false;
  /** By index: devices that our programs are on, as far as we know. */
  readonly #attached = new Map<number, DeviceMode>();
  /** Devices whose outgoing packets cannot be seen. */
  #unseen = 0;
  #problem: string | null = null;
  #flowsProblem: string | null = null;
  #learnAgainMs = Infinity;
  #repairs = 0;

  constructor(options: EarlyDropOptions) {
    this.#options = options;
    this.#counts = new EarlyDropCounts(options.driver, (ifindex) => this.#nameOf(ifindex));
  }

  /** After nftables has it; `refused` it has not. */
  async apply(
    { policies, settings, sourceSets }: Omit<Desired, 'generation'>,
    refused: readonly RefusedTarget[],
  ): Promise<void> {
    if (!this.#able()) return;
    try {
      this.#named = settings.devices;
      this.#seen = new Map(settings.devices.map((name) => [name, this.#options.readDevice(name)]));
      this.#load(this.#compilation.of(policies, refused), settings, sourceSets);
      this.#watchEgress();
      this.#attach();
      this.#problem = null;
    } catch (error) {
      this.#giveUp(error);
      return;
    }
    await this.#learnFlows();
  }

  /** Devices came, went or changed their names, or somebody took our programs off: it is time to apply again. */
  disturbed(): boolean {
    if (this.#loaded === null) return false;
    if (performance.now() >= this.#learnAgainMs || !this.#options.driver.watches(this.#leaving())) {
      return true;
    }
    const named = new Set(this.#named);
    return [...this.#modes].some(([name, { ifindex, xdp, plan }]) => {
      const device = this.#options.readDevice(name);
      if (ifindex !== (device?.ifindex ?? null) || plan !== planOf(device, named).text) return true;
      return xdp !== 'none' && ifindex !== null && !this.#options.driver.attached(ifindex);
    });
  }

  /** Off every device: we observe, or somebody took our hands off. */
  remove(): void {
    if (!this.#able()) return;
    const { driver } = this.#options;
    try {
      for (const ifindex of driver.devices()) driver.detach(ifindex);
      if (this.#loaded !== null) driver.watch([]);
    } catch (error) {
      this.#problem = `the early drop could not be taken off: ${describeError(error)}`;
    }
    this.#loaded = null;
    this.#modes.clear();
    this.#attached.clear();
    this.#flowsKnown = false;
  }

  /** Leaves it in force. */
  close(): void {
    this.#options.driver.close();
  }

  get repairs(): number {
    return this.#repairs;
  }

  problems(): string[] {
    const passedOn = [...(this.#loaded?.values() ?? [])].filter(isPassedOn).length;
    return [
      ...[this.#problem, this.#flowsProblem].filter((problem) => problem !== null),
      ...(passedOn === 0 ? [] : [`${passedOn} targets have too many kinds of rules to drop early`]),
    ];
  }

  modeOf(device: string): DeviceMode {
    const known = this.#modes.get(device);
    if (known !== undefined) return { xdp: known.xdp, reason: known.reason };
    return { xdp: 'none', reason: this.#lack ?? 'nothing is loaded yet' };
  }

  async read(): Promise<DropReading> {
    return this.#loaded === null ? { entries: [], samples: [] } : this.#counts.read();
  }

  #able(): boolean {
    if (this.#lack === undefined) {
      this.#lack = this.#options.driver.probe();
      if (this.#lack !== null) this.#options.log.warn({ reason: this.#lack }, 'no early drop');
    }
    return this.#lack === null;
  }

  #load(
    targets: ReadonlyMap<string, EarlyTarget>,
    assignment: EdgeAssignment,
    sourceSets: SourceSets,
  ): void {
    const { driver } = this.#options;
    const before = this.#loaded ?? NOTHING;
    const changed = changedKeys(before, targets);
    if (changed.some((name) => closes(before.get(name), targets.get(name))))
      this.#flowsKnown = false;
    const settings = this.#settingsFor(assignment);
    const set = changed.flatMap((name) => targets.get(name) ?? []);
    const gone = changed.filter((name) => !targets.has(name));
    const asks = changed.some(
      (name) => asksUnions(before.get(name)) || asksUnions(targets.get(name)),
    );
    const asked = asks ? askedUnions(targets.values()) : this.#asked;
    if (gone.length > 0) this.#counts.before(gone);
    if (
      this.#loaded === null ||
      !sameNames(asked, this.#asked) ||
      (asked.size > 0 && sourceSets.version !== this.#setsVersion)
    ) {
      this.#counts.before();
      driver.load([...targets.values()], settings, planUnions(asked, sourceSets));
    } else {
      if (JSON.stringify(settings) !== JSON.stringify(this.#settings)) driver.configure(settings);
      if (set.length + gone.length > 0) driver.change(set, gone);
    }
    this.#asked = asked;
    this.#setsVersion = sourceSets.version;
    this.#settings = settings;
    this.#loaded = targets;
  }

  #settingsFor({ sees, management, devices }: EdgeAssignment): EarlySettings {
    const named = new Set(devices);
    const vlans = devices.flatMap((name) => {
      const device = this.#seen.get(name) ?? null;
      const plan = device === null ? null : planDevice(device, named);
      if (device === null || plan === null || !plan.attach) return [];
      return plan.vlans.map((outer) => ({ ifindex: device.ifindex, outer, inner: 0 }));
    });
    return {
      keepReplies: sees === 'both',
      flowsComplete: this.#flowsKnown,
      management: [...management],
      vlans,
      remember: this.#options.remember(),
    };
  }

  #attach(): void {
    const { driver } = this.#options;
    const named = new Set(this.#named);
    const wanted = new Set<number>();
    for (const name of named) {
      const device = this.#seen.get(name) ?? null;
      const { plan, text } = planOf(device, named);
      const ifindex = device?.ifindex ?? null;
      if (ifindex === null || !plan.attach) {
        const reason = plan.attach ? null : plan.reason;
        this.#modes.set(name, { xdp: 'none', reason, ifindex, plan: text });
        continue;
      }
      wanted.add(ifindex);
      // By its index: a device that only changed its name stays as it is.
      const known = this.#attached.get(ifindex);
      const mode =
        known !== undefined && driver.attached(ifindex) ? known : this.#attachTo(ifindex);
      this.#modes.set(name, { xdp: mode.xdp, reason: mode.reason, ifindex, plan: text });
    }
    for (const ifindex of driver.devices()) if (!wanted.has(ifindex)) driver.detach(ifindex);
    for (const ifindex of this.#attached.keys())
      if (!wanted.has(ifindex)) this.#attached.delete(ifindex);
    for (const name of this.#modes.keys()) if (!named.has(name)) this.#modes.delete(name);
  }

  #attachTo(ifindex: number): DeviceMode {
    if (this.#attached.has(ifindex)) this.#repairs++;
    const attached = this.#options.driver.attach(ifindex);
    const mode = describe(attached);
    if (attached.mode === 'none') this.#attached.delete(ifindex);
    else this.#attached.set(ifindex, mode);
    return mode;
  }

  /** Indices of the devices that packets leave by; what leaves by a port leaves by its master too. */
  #leaving(): number[] {
    const { listDevices, readDevice } = this.#options;
    return listDevices()
      .flatMap((name) => readDevice(name) ?? [])
      .filter(({ isPort, isEthernet }) => !isPort && isEthernet)
      .map(({ ifindex }) => ifindex)
      .toSorted((a, b) => a - b);
  }

  #watchEgress(): void {
    const { driver } = this.#options;
    const leaving = this.#leaving();
    if (driver.watches(leaving)) return;
    // What left by another device before is not known: until it is, replies must not be dropped.
    this.#flowsKnown = false;
    if (this.#settings?.flowsComplete === true) {
      this.#configure({ ...this.#settings, flowsComplete: false });
    }
    const unseen = driver.watch(leaving);
    this.#unseen = unseen.length;
  }

  /** Flows that began before the programs were there are learnt from connection tracking. */
  async #learnFlows(): Promise<void> {
    const { driver, openFlows } = this.#options;
    this.#learnAgainMs = Infinity;
    this.#flowsProblem = null;
    if (this.#settings === null || !this.#settings.keepReplies || this.#flowsKnown) return;
    if (this.#unseen > 0) {
      this.#flowsProblem =
        'what leaves cannot be watched on every device: only SYNs are dropped early';
      return;
    }
    try {
      const batch: Flow[] = [];
      const keep = (): void => driver.remember(batch.splice(0));
      const whole = await openFlows((flow) => {
        if (batch.push(flow) >= FLOWS_AT_ONCE) keep();
      });
      keep();
      if (!whole) throw new Error('connection tracking changed while it was read');
      this.#flowsKnown = true;
      this.#configure({ ...this.#settings, flowsComplete: true });
    } catch (error) {
      // Nothing that may be a reply is dropped meanwhile.
      this.#flowsProblem = `open flows are not known yet: ${describeError(error)}`;
      this.#learnAgainMs = performance.now() + LEARN_AGAIN_MS;
    }
  }

  #configure(settings: EarlySettings): void {
    this.#options.driver.configure(settings);
    this.#settings = settings;
  }

  #nameOf(ifindex: number): string | null {
    for (const [name, mode] of this.#modes) if (mode.ifindex === ifindex) return name;
    return null;
  }

  #giveUp(error: unknown): void {
    this.#options.log.error({ error }, 'the early drop failed and is taken off');
    this.remove();
    this.#problem = `the early drop failed: ${describeError(error)}`;
  }
}

interface KnownDevice extends DeviceMode {
  readonly ifindex: number | null;
  /** As text: another one asks for another apply. */
  readonly plan: string;
}

function planOf(
  device: Device | null,
  named: ReadonlySet<string>,
): { plan: DevicePlan; text: string } {
  const absent = { attach: false, reason: 'there is no such device' } as const;
  const plan = device === null ? absent : planDevice(device, named);
  return { plan, text: JSON.stringify(plan) };
}

const FLOWS_AT_ONCE = 1_000;
const LEARN_AGAIN_MS = 5_000;

type AskedUnions = ReadonlyMap<string, readonly string[]>;
const NOTHING: ReadonlyMap<string, EarlyTarget> = new Map();

function asksUnions(target: EarlyTarget | undefined): boolean {
  return target !== undefined && target.unions.size > 0;
}

function askedUnions(targets: Iterable<EarlyTarget>): AskedUnions {
  const asked = new Map<string, readonly string[]>();
  for (const { unions } of targets) for (const [name, sets] of unions) asked.set(name, sets);
  return asked;
}

function sameNames(a: AskedUnions, b: AskedUnions): boolean {
  return a.size === b.size && [...a.keys()].every((name) => b.has(name));
}

function describe(attached: Attached): DeviceMode {
  if (attached.mode === 'none') return { xdp: 'none', reason: attached.reason };
  const remarks = [
    ...(attached.mode === 'generic'
      ? [
          `its driver takes no XDP program${attached.refusal === null ? '' : ` (${attached.refusal})`}`,
        ]
      : []),
    ...(attached.pinned ? [] : ['no bpffs to pin it in: it ends with the agent']),
  ];
  return { xdp: attached.mode, reason: remarks.length === 0 ? null : remarks.join('; ') };
}
