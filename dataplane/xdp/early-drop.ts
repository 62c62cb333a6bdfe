import { describeKernelError } from '../kernel/describe-error.ts';
import type { SourceSets, RefusedTarget } from '@portcullis/core/firewall/policy.ts';
import type { EdgeAssignment } from '@portcullis/core/firewall/packet.ts';
import type { CounterDriver } from '../counters/driver.ts';
import type { Desired } from '../desired.ts';
import { DeviceCheckTimer, type DeviceMode, type DeviceModes } from './devices/device.ts';
import type { DropReading, DropSource } from '../drops.ts';
import type { Log } from '@portcullis/core/log.ts';
import { changedKeys } from '../compile/changed-keys.ts';
import {
  UnionTableCache,
  type RequiredUnions,
  requiredUnions,
  usesUnions,
  sameNames,
} from './compile/unions.ts';
import { EgressDevices, type EgressDevicesOptions } from './devices/egress-devices.ts';
import { Attachments } from './devices/attachments.ts';
import { Audit } from './audit.ts';
import type { FastPathState } from '@portcullis/core/firewall/edge-state.ts';
import { FastPath, type ForwardingHost } from './forwarding/fast-path.ts';
import { needsFlows } from './flows/needs-flows.ts';
import { EarlyCompilation } from './compile/compilation.ts';
import type { EarlyTarget } from './compile/early-target.ts';
import type { EarlySettings } from './driver/driver.ts';
import { readDrops } from './counting/drop-reading.ts';
import type { Flow } from './flows/mark-keys.ts';
import { OpenFlows, protectedSides } from './flows/open-flows.ts';

export interface EarlyDropOptions extends EgressDevicesOptions {
  readonly deviceName: (ifindex: number) => string | null;
  /**
   * Reports every connection that connection tracking knows, as its replies arrive. Resolves to false if some may be
   * missing.
   */
  readonly openFlows: (take: (flow: Flow) => void) => Promise<boolean>;
  readonly remember: () => EarlySettings['remember'];
  /** Null: no packet is forwarded without the network stack. */
  readonly forwarding: ForwardingHost | null;
  readonly log: Log;
}

/**
 * Keeps the early drop in line with nftables. It may drop less than nftables, never more: if it cannot be updated, it
 * is detached. A failure here never fails an apply, because nftables is complete on its own.
 */
export class EarlyDrop implements DeviceModes, DropSource {
  readonly name = 'the early drop';
  readonly #options: EarlyDropOptions;
  readonly #compilation = new EarlyCompilation();
  #loaded: ReadonlyMap<string, EarlyTarget> | null = null;
  #settings: EarlySettings | null = null;
  /** The unions of source sets that loaded rules use, and the version of the data in them. */
  #required: RequiredUnions = new Map();
  #setsVersion = '';
  readonly #unions = new UnionTableCache();
  readonly #devices: Attachments;
  readonly #egress: EgressDevices;
  readonly #deviceChecks = new DeviceCheckTimer();
  readonly #audit: Audit;
  /** Why this host cannot run the early drop; undefined until it was probed. */
  #obstacle: string | null | undefined;
  readonly #flows: OpenFlows;
  readonly #fastPath: FastPath;
  /** The targets that are loaded next. */
  #next: ReadonlyMap<string, EarlyTarget> = NOTHING;
  #problem: string | null = null;

  constructor(options: EarlyDropOptions) {
    this.#options = options;
    this.#devices = new Attachments(options.driver, options);
    this.#egress = new EgressDevices(options);
    this.#audit = new Audit(options.driver);
    this.#fastPath = new FastPath(options.driver, options.forwarding);
    this.#flows = new OpenFlows({
      read: options.openFlows,
      relevantFlows: () => protectedSides(this.#next, this.#loaded ?? NOTHING),
      remember: (flows) => options.driver.remember(flows),
    });
  }

  /**
   * Does the work that does not depend on nftables while the kernel takes a large table. Optional: `apply` does the
   * same.
   */
  async prepare({ policies, sourceSets }: Pick<Desired, 'policies' | 'sourceSets'>): Promise<void> {
    // Lets nft start first.
    await new Promise(setImmediate);
    if (typeof this.#obstacle === 'string') return;
    const targets = await this.#compilation.prepare(policies.values());
    const { driver } = this.#options;
    this.#setObstacle(
      await driver.prepare(targets, this.#unions.table(requiredUnions(targets), sourceSets)),
    );
  }

  /** Called before nftables gets other policies: until `apply` no packet is forwarded without it. */
  suspendForwarding(): void {
    if (this.#loaded === null) return;
    try {
      this.#fastPath.suspend();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** How answered flows are forwarded. */
  fastPath(): FastPathState {
    return this.#fastPath.state();
  }

  /** Called after nftables has the policies. `refused`: targets that nftables did not take. */
  async apply(
    { policies, settings, sourceSets }: Omit<Desired, 'generation'>,
    refused: readonly RefusedTarget[],
  ): Promise<void> {
    if (!this.#canWork()) return;
    try {
      this.#deviceChecks.start();
      this.#devices.readDevices(settings.devices);
      this.#next = this.#compilation.of(policies, refused);
      // A dump in progress may lack flows of the new targets.
      if (!this.#flows.known) this.#flows.forget();
      const change = this.#planChange(this.#next, sourceSets);
      const first = this.#loaded === null;
      // The first load may have been prepared already. Loaded rules stay in force meanwhile.
      if (change.reload && !first) await this.#prepareReload(change, sourceSets);
      if (change.needsFlows && !first) await this.#learnBeforeClosing();
      const hasPredecessor = first && this.#options.driver.hasPredecessor();
      this.#load(change, this.#settingsFor(settings), sourceSets);
      if (hasPredecessor) await this.#learnBeforeTakeover();
      if (change.reload) this.#options.driver.enforce();
      this.#loaded = this.#next;
      this.#watchEgress();
      this.#devices.attach();
      this.#problem = null;
      await this.#readmitTargets();
      this.#resumeForwarding(settings);
    } catch (error) {
      this.#fail(error);
      return;
    }
    await this.#learnFlows();
  }

  /**
   * Repairs at once what another program detached or changed, even while an apply waits for nftables or for open
   * flows. Returns what was found, or null. After a finding, the next `apply` may have more to do.
   */
  repair(): string | null {
    if (this.#loaded === null) return null;
    try {
      this.#fastPath.refresh();
      const devices = this.#devices.repair();
      if (devices.length > 0) return `detached the early drop from ${devices.join(', ')}`;
      if (!this.#audit.foundTampering && !this.#audit.checkNext(this.#loaded))
        return 'changed the maps of the early drop';
      if (!this.#egress.isFoundDetached()) return null;
      this.#watchEgress();
      return 'detached the egress program, or a device is gone';
    } catch (error) {
      this.#fail(error);
      return 'made the early drop fail';
    }
  }

  /**
   * Reads back the map elements of a target. Returns false if they were changed; the next `apply` then reloads
   * everything.
   */
  check(target: string): boolean {
    return this.#loaded === null || this.#audit.check(target);
  }

  /** Whether devices or attached programs changed, so that `apply` must run again. */
  needsApply(): boolean {
    if (this.#loaded === null) return false;
    const { driver } = this.#options;
    if (this.#audit.foundTampering || this.#flows.isDue || driver.readmissible().length > 0)
      return true;
    if (!this.#deviceChecks.isDue) return this.#devices.isDetached || this.#egress.isDetached;
    this.#deviceChecks.start();
    const hasChanged = this.#egress.hasChanged() || this.#devices.hasChanged();
    if (hasChanged) this.#deviceChecks.markChanged();
    return hasChanged;
  }

  /** Devices are checked when the returned function was called, and otherwise rarely: a host may have hundreds. */
  followDevices(): () => void {
    this.#deviceChecks.follow();
    return () => this.#deviceChecks.markChanged();
  }

  /** Detaches from every device, because the edge observes or was disabled. */
  remove(): void {
    if (!this.#canWork()) return;
    const { driver } = this.#options;
    try {
      this.#fastPath.suspend();
      this.#devices.remove();
      driver.watch([]);
      driver.forwardAnswers([]);
    } catch (error) {
      this.#problem = `the early drop could not be detached: ${describeKernelError(error)}`;
    }
    this.#loaded = null;
    this.#flows.forget();
  }

  /** The programs stay attached. */
  close(): void {
    this.#options.driver.close();
  }

  get repairs(): number {
    return this.#devices.repairs + this.#audit.reloads;
  }

  problems(): string[] {
    const problems = [this.#problem, this.#flows.problem].filter((problem) => problem !== null);
    if (this.#loaded === null) return problems;
    const { tooComplex } = this.#compilation;
    const excluded = this.#options.driver.beyondCapacity().size;
    if (tooComplex > 0)
      problems.push(`${tooComplex} targets have too many kinds of rules to drop early`);
    if (excluded > 0)
      problems.push(
        `${excluded} targets exceed the capacity of the early drop: nftables evaluates them`,
      );
    return problems;
  }

  modeOf(device: string): DeviceMode {
    const nothing = { xdp: 'none', reason: this.#obstacle ?? 'nothing is loaded yet' } as const;
    return this.#devices.modeOf(device) ?? nothing;
  }

  /** Returns null if some packets that enter by the named devices are not seen. */
  counters(): CounterDriver | null {
    const isComplete = this.#loaded !== null && this.#devices.isComplete;
    return isComplete ? this.#options.driver.counters() : null;
  }

  async read(): Promise<DropReading> {
    if (this.#loaded === null) return { entries: [], samples: [] };
    return readDrops(this.#options.driver, (ifindex) => this.#devices.nameOf(ifindex));
  }

  #canWork(): boolean {
    if (this.#obstacle === undefined) this.#setObstacle(this.#options.driver.probe());
    return this.#obstacle === null;
  }

  #setObstacle(obstacle: string | null): void {
    this.#obstacle = obstacle;
    if (obstacle !== null)
      this.#options.log.warn({ reason: obstacle }, 'the early drop cannot be used');
  }

  #planChange(next: ReadonlyMap<string, EarlyTarget>, sourceSets: SourceSets): PlannedChange {
    const before = this.#loaded ?? NOTHING;
    const excluded = this.#options.driver.beyondCapacity();
    const changed = changedKeys(before, next);
    const unionsInUse = changed.some(
      (name) => usesUnions(before.get(name)) || usesUnions(next.get(name)),
    );
    const required = unionsInUse ? requiredUnions(next.values()) : this.#required;
    const refilled = required.size > 0 && sourceSets.version !== this.#setsVersion;
    const reload =
      this.#loaded === null ||
      this.#audit.foundTampering ||
      refilled ||
      !sameNames(required, this.#required);
    const mayDropFlows = (name: string): boolean =>
      excluded.has(name) || needsFlows(before.get(name), next.get(name));
    return {
      set: changed.flatMap((name) => next.get(name) ?? []),
      removed: changed.filter((name) => !next.has(name)),
      // Flows to targets beyond capacity were not remembered.
      needsFlows: (reload && excluded.size > 0) || changed.some(mayDropFlows),
      required,
      reload,
    };
  }

  async #prepareReload({ required }: PlannedChange, sets: SourceSets): Promise<void> {
    const targets = [...this.#next.values()];
    await this.#options.driver.prepare(targets, this.#unions.table(required, sets));
  }

  #load(
    { set, removed, required, reload }: PlannedChange,
    wanted: EarlySettings,
    sets: SourceSets,
  ): void {
    const { driver } = this.#options;
    if (reload) {
      this.#settings = wanted;
      driver.load([...this.#next.values()], wanted, this.#unions.table(required, sets));
      this.#unions.forget();
      this.#audit.markReloaded();
    } else {
      // Until the change is made, all outgoing flows are marked.
      const marksAll = wanted.marksAll || this.#settings?.marksAll === true;
      this.#configure({ ...wanted, marksAll });
      if (set.length + removed.length > 0) driver.change(set, removed);
      this.#configure(wanted);
    }
    this.#required = required;
    this.#setsVersion = sets.version;
  }

  /** Loads targets for which there is capacity again. Their flows were not remembered, so they are learnt first. */
  async #readmitTargets(): Promise<void> {
    const { driver } = this.#options;
    const readmissible = driver.readmissible();
    if (readmissible.length === 0 || this.#settings === null) return;
    await this.#learnBeforeClosing();
    this.#configure({ ...this.#settings, flowsComplete: this.#flows.known });
    driver.change(readmissible, []);
    this.#configureKnownFlows();
  }

  #settingsFor({ sees, management }: EdgeAssignment): EarlySettings {
    return {
      keepReplies: sees === 'both',
      flowsComplete: this.#flows.known,
      marksAll: !this.#flows.known,
      management: [...management],
      named: this.#devices.indexes,
      vlans: this.#devices.vlans(),
      remember: this.#options.remember(),
    };
  }

  #resumeForwarding({ sees }: EdgeAssignment): void {
    this.#fastPath.resume(() => ({
      sees,
      isComplete: this.#devices.isComplete,
      entries: this.#devices.hooks,
    }));
  }

  #watchEgress(): void {
    // Flows that left by a new device are unknown. Until they are learnt, replies must not be dropped.
    this.#egress.watch(() => {
      this.#flows.forget();
      this.#configureKnownFlows();
    });
  }

  /** The loaded rules stay in force until the flows that the new rules need are known. */
  async #learnBeforeClosing(): Promise<void> {
    if (this.#settings === null || !this.#settings.keepReplies || !this.#flows.known) return;
    this.#configure({ ...this.#settings, marksAll: true });
    this.#flows.forget();
    await this.#flows.learnWithTimeout(MAX_WAIT_MS);
  }

  /** Learns the flows before the programs of an earlier agent are replaced. */
  async #learnBeforeTakeover(): Promise<void> {
    if (this.#settings?.keepReplies !== true) return;
    this.#watchEgress();
    if (this.#egress.unwatchable === 0) await this.#flows.learnWithTimeout(MAX_WAIT_MS);
    this.#configureKnownFlows();
  }

  /** Learns flows from connection tracking that started before the programs were attached. */
  async #learnFlows(): Promise<void> {
    if (this.#settings?.keepReplies !== true) return this.#flows.pause(null);
    if (this.#flows.known) return;
    if (this.#egress.unwatchable > 0) {
      this.#flows.pause(
        'outgoing packets cannot be watched on every device: only SYNs are dropped early',
      );
      return;
    }
    await this.#flows.learn();
    this.#configureKnownFlows();
  }

  #configureKnownFlows(): void {
    if (this.#settings === null) return;
    const { known } = this.#flows;
    this.#configure({ ...this.#settings, flowsComplete: known, marksAll: !known });
  }

  #configure(settings: EarlySettings): void {
    if (JSON.stringify(settings) === JSON.stringify(this.#settings)) return;
    this.#options.driver.configure(settings);
    this.#settings = settings;
  }

  #fail(error: unknown): void {
    this.#options.log.error({ error }, 'the early drop failed and is detached');
    this.remove();
    this.#problem = `the early drop failed: ${describeKernelError(error)}`;
  }
}

interface PlannedChange {
  readonly set: readonly EarlyTarget[];
  readonly removed: readonly string[];
  /** See needs-flows.ts. */
  readonly needsFlows: boolean;
  readonly required: RequiredUnions;
  /** The maps are made again instead of changed. */
  readonly reload: boolean;
}

/** The longest time that a change waits for open flows. Afterwards it is made without them. */
const MAX_WAIT_MS = 250;

const NOTHING: ReadonlyMap<string, EarlyTarget> = new Map();
